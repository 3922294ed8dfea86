// Replaces the config snapshot with the files read again, in this process and its siblings: in all of them, or in none.
import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Live } from '../base/live.ts'
import type { Topic } from '../base/siblings.ts'
import type { createTurns } from '../base/turns.ts'
import type { SettingsReader } from '../config/load.ts'
import { renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { reasonOf, StartError } from '../kernel/start-error.ts'
import type { VerificationKey } from '../keys/key.ts'
import { recordAdministratorChanges, recordOptionChanges } from './option-events.ts'
import type { Use } from './shared-secrets.ts'
import { type BuiltSnapshot, buildSnapshot, type ConfigSnapshot, type SnapshotDeps } from './snapshot.ts'
import type { VolatileLayer } from './stored-layer.ts'

export interface ReloadReport {
  readonly isApplied: boolean
  /** Why it was not applied, each with its place. */
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  /** Changed options that take effect only after a restart. */
  readonly needRestart: readonly string[]
  /** The options whose files had other secrets than before, each with their number. */
  readonly secrets?: readonly string[]
}

/** Something that is reloaded with the configuration: all of it is applied, or nothing. */
export interface ReloadPart {
  /** Reads it for these settings, without applying it. */
  prepare(settings: Settings): Promise<PreparedPart>
}

export interface PreparedPart {
  /** Each with its place. */
  readonly problems: readonly string[]
  /** Differs with what was read, so that siblings can compare it. */
  readonly digest: string
  /** The secrets it would use, and what for. */
  readonly secrets?: readonly [use: Use, keys: readonly VerificationKey[]]
  /** Set if its secrets differ from the current ones: the option, and how many there are. */
  readonly replaced?: string
  /** Called only if no part has a problem, just before the snapshot is replaced. Must not throw. */
  apply(): void
}

export interface ReloadState {
  readonly kernel: Kernel
  /** Reads the files. The reader it returns adds the other layers. */
  readonly load: () => SettingsReader
  /** Reads the files as of the last reload. */
  reader: SettingsReader
  readonly snapshot: Live<ConfigSnapshot>
  replace(built: BuiltSnapshot): ReloadReport
  /** Without what was set for this server only. */
  readonly fresh: SnapshotDeps
  readonly volatile: VolatileLayer
  readonly inTurn: ReturnType<typeof createTurns>
  readonly parts: ReloadPart[]
}

/** What was read, and is not applied yet. */
interface Candidate {
  readonly reader: SettingsReader
  readonly parts: Awaited<ReturnType<typeof prepareParts>>
  readonly digest: string
}

/** The first process reloads for all: two reloads at a time would leave some with the files of one, some of the other. */
const RELOAD: Topic<undefined, ReloadReport> = { name: 'reload' }
const PREPARE: Topic<undefined, Pick<ReloadReport, 'problems'> & Pick<Candidate, 'digest'>> = { name: 'reload.prepare' }
/** The value is the digest of what is to be applied. */
const APPLY: Topic<string> = { name: 'reload.apply' }
const DIGEST: Topic<undefined, string> = { name: 'reload.digest' }

export function createReload(state: ReloadState) {
  const { siblings, audit } = state.kernel
  let candidate: Candidate | undefined
  let isReloading = false
  siblings.answer(RELOAD, () =>
    state
      .inTurn(() => {
        isReloading = true
        return reloadAll(state).finally(() => {
          isReloading = false
        })
      })
      .catch(toFailure),
  )
  siblings.answer(PREPARE, async () => {
    // both would wait for the turn of the other
    if (isReloading) return { digest: '', problems: [ANOTHER_RELOAD] }
    audit.reopen()
    candidate = undefined
    try {
      candidate = await prepare(state)
      return { digest: candidate.digest, problems: [] }
    } catch (error) {
      return { digest: '', problems: toFailure(error).problems }
    }
  })
  siblings.answer(APPLY, (digest) =>
    state
      .inTurn(async () => {
        if (candidate?.digest !== digest) throw new TypeError('another configuration was prepared')
        apply(state, candidate, await buildSnapshot(candidate.reader, state.fresh, state.snapshot.get()))
      })
      .catch((error) => {
        state.fresh.log.error('the reloaded configuration cannot be applied', { error })
        // without a reply this process is ended: it must not go on with the configuration of before
        return new Promise<never>(() => {})
      }),
  )
  siblings.answer(DIGEST, () => digestOf(state.reader))
  const reload = () => reloadAndRecord(state)
  return {
    reload,
    /** For a process that has started after its siblings: the files may have changed since they read them. */
    async agree(): Promise<void> {
      const own = digestOf(state.reader)
      if ((await siblings.askAll(DIGEST, undefined)).some((digest) => digest !== own)) await reload()
    },
  }
}

async function reloadAndRecord(state: ReloadState): Promise<ReloadReport> {
  const { kernel, snapshot, fresh } = state
  const { events, audit } = kernel
  // another program has renamed the file, whether or not the configuration is valid
  audit.reopen()
  const before = snapshot.get()
  const report = await askForReload(state).catch(toFailure)
  const after = snapshot.get()
  if (!report.isApplied) {
    events.record('reload.failed', { source: 'configuration', reason: summarize(report.problems) })
    return report
  }
  const changed = [...report.changed, ...report.needRestart]
  events.record('configuration.reloaded', { changed })
  recordOptionChanges(events, changed, before.configured, after.configured)
  recordAdministratorChanges(events, before, after)
  if (report.needRestart.length > 0)
    fresh.log.warn('these changes take effect after a restart', { options: report.needRestart })
  return report
}

async function askForReload(state: ReloadState): Promise<ReloadReport> {
  const { siblings } = state.kernel
  // hashes plain-text passwords here, because the first process has a limited time to reply
  if (!siblings.isFirst()) await buildSnapshot((await prepare(state)).reader, state.fresh, state.snapshot.get())
  for (let attempt = 1; ; attempt += 1) {
    const report = await siblings.askFirst(RELOAD, undefined)
    if (attempt === ATTEMPTS || !report.problems.includes(ANOTHER_RELOAD)) return report
    // another process became the first while this one reloaded, or the other way round
    await pause(PAUSE_MS)
  }
}

/** Throws a `StartError` if anything is wrong in any process: then none applies it. */
async function reloadAll(state: ReloadState): Promise<ReloadReport> {
  const { siblings } = state.kernel
  // checked first, because the next step hashes plain-text passwords and writes the hashes to the files
  const first = await prepare(state)
  const built = await buildSnapshot(first.reader, state.fresh, state.snapshot.get())
  const candidate = siblings.count > 1 ? await prepare(state) : first
  const others = await siblings.tellAll(PREPARE, undefined)
  const problems = new Set(others.flatMap((other) => other.problems))
  if (problems.size > 0) throw new StartError([...problems].join('\n'))
  if (others.some(({ digest }) => digest !== candidate.digest)) throw new StartError(CHANGED_MEANWHILE)
  await siblings.tellAll(APPLY, candidate.digest)
  return apply(state, candidate, built)
}

const ATTEMPTS = 20
const PAUSE_MS = 100
const ANOTHER_RELOAD = 'Another reload is running: reload again'
const CHANGED_MEANWHILE = 'The files changed while they were read: reload again'

async function prepare(state: ReloadState): Promise<Candidate> {
  const reader = state.load()
  const parts = await prepareParts(state, reader)
  if (parts.problems.length > 0) throw new StartError(parts.problems.join('\n'))
  return { reader, parts, digest: hash('sha256', JSON.stringify([digestOf(reader), parts.digests])) }
}

/** Files, environment and flags. */
function digestOf(reader: SettingsReader): string {
  const { entries, admins, deletedAdmins } = reader([]).settings
  return hash('sha256', JSON.stringify([entries, admins, deletedAdmins]))
}

function apply(state: ReloadState, { reader, parts }: Candidate, built: BuiltSnapshot): ReloadReport {
  state.reader = reader
  state.volatile.drop()
  parts.apply()
  return { ...state.replace(built), secrets: parts.replaced }
}

/** Any error keeps the current snapshot, an unreachable store or a full hashing queue too. */
function toFailure(error: unknown): ReloadReport {
  const reason = error instanceof StartError ? error.message : `it could not be read: ${reasonOf(error)}`
  return { isApplied: false, problems: reason.split('\n'), changed: [], needRestart: [] }
}

const summarize = ([first = '', ...others]: readonly string[]): string =>
  others.length > 0 ? `${first} (and ${others.length} more)` : first

/** Reads every part, without applying any. If the settings are invalid, the parts are read for the current ones. */
async function prepareParts({ parts, fresh, snapshot }: ReloadState, reader: SettingsReader) {
  const { settings, problems } = reader((await fresh.runtime.read()).entries)
  const read = problems.length > 0 ? snapshot.get().configured : settings
  const prepared = await Promise.all(parts.map((part) => part.prepare(read)))
  const found = [...problems.map(renderProblem), ...prepared.flatMap((part) => part.problems)]
  const newSecrets = new Map(prepared.flatMap((part) => (part.secrets ? [part.secrets] : [])))
  const shared = found.length === 0 ? fresh.checkSecrets(read, newSecrets) : undefined
  return {
    problems: shared === undefined ? found : [shared],
    digests: prepared.map(({ digest }) => digest),
    replaced: prepared.flatMap((part) => part.replaced ?? []),
    apply: () => {
      for (const part of prepared) part.apply()
    },
  }
}
