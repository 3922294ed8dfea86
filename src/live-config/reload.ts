// Replaces the config snapshot with the files read again, in this process and its siblings: in all of them, or in none.
import { hash, randomUUID } from 'node:crypto'
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

/** By the source of the content. Siblings compare them, for those sources that both have. */
export type Digests = ReadonlyMap<string, string>

/** Something that is reloaded with the configuration: all of it is applied, or nothing. */
export interface ReloadPart {
  /** The digests of what is used now. */
  digests(): Digests
  /** Reads it for these settings, without applying it. */
  prepare(settings: Settings): Promise<PreparedPart>
}

export interface PreparedPart {
  /** Each with its place. */
  readonly problems: readonly string[]
  /** The digests of what was read. */
  readonly digests: Digests
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
  readonly digests: Digests
}

/** Prepared for the reload of a sibling. `built` was made with the snapshot `before`, and counts while that is current. */
interface BuiltCandidate extends Candidate {
  readonly reload: string
  readonly before: ConfigSnapshot
  readonly built: BuiltSnapshot
}

/** The first process reloads for all: two reloads at a time would leave some with the files of one, some of the other. */
const RELOAD: Topic<undefined, ReloadReport> = { name: 'reload' }
type Prepared = Pick<ReloadReport, 'problems'> & Pick<Candidate, 'digests'>
/** Both topics send the id of a reload. A process that is starting replies `undefined`: it agrees before it serves. */
const PREPARE: Topic<string, Prepared | undefined> = { name: 'reload.prepare' }
const APPLY: Topic<string> = { name: 'reload.apply' }
const DIGESTS: Topic<undefined, Digests> = { name: 'reload.digests' }

/** One that starts may have read older files than its siblings, and has not read everything yet. It agrees before it serves. */
type Phase = 'starting' | 'agreeing' | 'serving'

/** How far this process is, and what reloads of its siblings it has seen. */
interface Seen {
  phase: Phase
  isReloading: boolean
  /** Prepared, and not applied yet. */
  candidate: BuiltCandidate | undefined
  /** Whether one was applied that was prepared while this process was starting. */
  hasMissedReload: boolean
}

export function createReload(state: ReloadState) {
  const phase: Phase = state.kernel.siblings.count > 1 ? 'starting' : 'serving'
  const seen: Seen = { phase, isReloading: false, candidate: undefined, hasMissedReload: false }
  answerReloads(state, seen)
  return {
    reload: () => reloadAndRecord(state),
    /** Called before this process serves. Throws if it cannot have the same as its siblings. */
    agree: () => agreeWithSiblings(state, seen),
  }
}

function answerReloads(state: ReloadState, seen: Seen): void {
  const { siblings, audit } = state.kernel
  siblings.answer(RELOAD, () =>
    state
      .inTurn(async () => {
        if (seen.phase === 'starting') throw new StartError(ANOTHER_RELOAD)
        seen.isReloading = true
        return reloadAll(state).finally(() => {
          seen.isReloading = false
        })
      })
      .catch(toFailure),
  )
  siblings.answer(PREPARE, async (id) => {
    if (seen.phase === 'starting') return undefined
    // both would wait for the turn of the other
    if (seen.isReloading) return { digests: new Map(), problems: [ANOTHER_RELOAD] }
    audit.reopen()
    seen.candidate = undefined
    try {
      seen.candidate = await prepareInTime(state, id)
      return { digests: seen.candidate.digests, problems: [] }
    } catch (error) {
      return { digests: new Map(), problems: toFailure(error).problems }
    }
  })
  siblings.answer(APPLY, async (id) => {
    if (seen.candidate || seen.phase === 'serving') await applyPrepared(state, seen.candidate, id)
    else seen.hasMissedReload = true
  })
  siblings.answer(DIGESTS, () => listDigests(state))
}

async function agreeWithSiblings(state: ReloadState, seen: Seen): Promise<void> {
  if (seen.phase === 'serving') return
  seen.phase = 'agreeing'
  for (let attempt = 1; !(await agreesWithFirst(state, seen)); attempt += 1) {
    const { isApplied, problems } = await reloadAndRecord(state)
    if (!isApplied || attempt === ATTEMPTS) throw new StartError([DIFFERENT, ...problems].join('\n'))
  }
  seen.phase = 'serving'
}

async function agreesWithFirst(state: ReloadState, seen: Seen): Promise<boolean> {
  seen.hasMissedReload = false
  const digests = await state.kernel.siblings.askFirst(DIGESTS, undefined)
  return agreeOnCommonSources(digests, listDigests(state)) && !seen.hasMissedReload
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
  const id = randomUUID()
  const others = (await siblings.tellAll(PREPARE, id)).filter((other) => other !== undefined)
  const problems = new Set(others.flatMap((other) => other.problems))
  if (problems.size > 0) throw new StartError([...problems].join('\n'))
  if (!others.every(({ digests }) => agreeOnCommonSources(digests, candidate.digests)))
    throw new StartError(CHANGED_MEANWHILE)
  await siblings.tellAll(APPLY, id)
  return apply(state, candidate, built)
}

const ATTEMPTS = 20
const PAUSE_MS = 100
const ANOTHER_RELOAD = 'Another reload is running: reload again'
const CHANGED_MEANWHILE = 'The files changed while they were read: reload again'
const TOO_SLOW = 'A worker could not read the store in time: reload again'
const DIFFERENT = 'The other workers use other files, and a reload of all has failed:'
/** Less than a sibling may take to reply: a slow store must not end it. */
const MAX_PREPARE_MS = 1500

async function prepare(state: ReloadState): Promise<Candidate> {
  const reader = state.load()
  const parts = await prepareParts(state, reader)
  if (parts.problems.length > 0) throw new StartError(parts.problems.join('\n'))
  return { reader, parts, digests: joinDigests(reader, parts.digests) }
}

async function prepareInTime(state: ReloadState, reload: string): Promise<BuiltCandidate> {
  const built = await Promise.race([prepareAndBuild(state, reload), pause(MAX_PREPARE_MS, undefined, { ref: false })])
  if (!built) throw new StartError(TOO_SLOW)
  return built
}

async function prepareAndBuild(state: ReloadState, reload: string): Promise<BuiltCandidate> {
  const before = state.snapshot.get()
  const candidate = await prepare(state)
  return { ...candidate, reload, before, built: await buildSnapshot(candidate.reader, state.fresh, before) }
}

/** Reads the store only if the snapshot was replaced meanwhile. After a failure it never replies, so this process is ended. */
async function applyPrepared(state: ReloadState, candidate: BuiltCandidate | undefined, reload: string): Promise<void> {
  try {
    if (candidate?.reload !== reload) throw new TypeError('another configuration was prepared')
    if (candidate.before === state.snapshot.get()) apply(state, candidate, candidate.built)
    else
      await state.inTurn(async () =>
        apply(state, candidate, await buildSnapshot(candidate.reader, state.fresh, state.snapshot.get())),
      )
  } catch (error) {
    state.fresh.log.error('the reloaded configuration cannot be applied', { error })
    await new Promise<never>(() => {})
  }
}

/** The digests of what is used now. */
const listDigests = ({ reader, parts }: ReloadState): Digests =>
  joinDigests(
    reader,
    parts.map((part) => part.digests()),
  )

/** Files, environment and flags, and the contents of the parts. */
function joinDigests(reader: SettingsReader, parts: readonly Digests[]): Digests {
  const { entries, admins, deletedAdmins } = reader([]).settings
  const configuration = hash('sha256', JSON.stringify([entries, admins, deletedAdmins]))
  return new Map([['configuration', configuration], ...parts.flatMap((digests) => [...digests])])
}

/** A process that is replaced for new options has other sources, and one that starts has not read all of them. */
const agreeOnCommonSources = (one: Digests, other: Digests): boolean =>
  [...one].every(([source, digest]) => (other.get(source) ?? digest) === digest)

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
    digests: prepared.map(({ digests }) => digests),
    replaced: prepared.flatMap((part) => part.replaced ?? []),
    apply: () => {
      for (const part of prepared) part.apply()
    },
  }
}
