// Opens the audit trail as the options say: its key, its checkpoints, and how long its records are kept.

import { randomBytes } from 'node:crypto'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { readBounded } from '../base/files.ts'
import type { Log } from '../base/log.ts'
import { confirmChange } from '../directory/confirm-change.ts'
import type { AuditRecord } from '../observe/audit/audit-record.ts'
import type { AuditRange, AuditStore } from '../observe/audit/audit-store.ts'
import { type AuditReporter, type AuditTrail, createAuditTrail } from '../observe/audit/audit-trail.ts'
import { readSigningKey, type SigningKey } from '../observe/audit/checkpoint.ts'
import { createCheckpointFile, toCheckpointPath } from '../observe/audit/checkpoint-file.ts'
import { Checkpoints } from '../observe/audit/checkpoints.ts'
import { type AuditErasure, createErasureSigner } from '../observe/audit/erasure.ts'
import type { AuditFigures } from '../observe/audit/failure-reporter.ts'
import type { RecordGuard, SecurityEvents } from '../observe/security-events.ts'
import { createFailureReporter, type DestinationDeps, openDestinations } from './audit-destinations.ts'
import { reasonOf, StartError } from './start-error.ts'

export interface Audit extends Omit<AuditTrail, 'figures' | 'purge'>, RecordGuard {
  /** The figures of the store and of every other destination. */
  listDestinations(): readonly (AuditFigures & { readonly destination: string })[]
  /** One page of the store, with the records that were not written yet when it was called. */
  list(range: AuditRange): Promise<readonly AuditRecord[]>
  /**
   * Replaces the name in all records of the store, and the addresses that this user had. Records that other nodes are
   * writing at this moment keep the name.
   */
  erase(name: string): Promise<{ readonly pseudonym: string; readonly records: number }>
  /** Deletes records that are too old, now and from time to time until it is closed. */
  startPurging(): void
  /** For a command, before it changes something: finds out which destinations fail, if `requireRecording` asks for it. */
  probe(): Promise<void>
  /** Opens files again, after another program has renamed them. */
  reopen(): void
}

interface CopyDeps extends DestinationDeps {
  readonly log: Log
}

export interface AuditDeps extends CopyDeps {
  readonly store: AuditStore
}

const isRefusing = ({ config }: DestinationDeps): boolean => config().audit['on-failure'] === 'refuse'

/** `requireRecording` for a command that replaces the store, which may be damaged: tries the other destinations only. */
export async function requireDestinations(deps: CopyDeps): Promise<void> {
  if (!isRefusing(deps)) return
  const copies = openCopies(deps)
  try {
    await copies.probe()
    requireWorking(copies.list())
  } finally {
    await copies.close()
  }
}

/** Throws a `StartError` if the key cannot be used. */
export function openAudit(deps: AuditDeps): Audit {
  const { config, store } = deps
  const key = loadAuditKey(config().audit['key-file'])
  const { trail, file } = openTrail(deps, key)
  const purging = createPurging(deps, trail)
  const copies = openCopies(deps)
  trail.onRecord(copies.add)
  const listDestinations = () => [
    { destination: STORE, ...trail.figures() },
    { destination: CHECKPOINT, ...file.figures() },
    ...copies.list(),
  ]
  return {
    append: (record) => trail.append(record),
    onRecord: (listener) => trail.onRecord(listener),
    flush: () => trail.flush(),
    listDestinations,
    requireRecording() {
      if (isRefusing(deps)) requireWorking(listDestinations())
    },
    list: (range) => list(store, trail, range),
    erase: (name) => erase(name, { ...deps, trail, sign: createErasureSigner(key) }),
    startPurging: purging.start,
    async probe() {
      if (isRefusing(deps)) await copies.probe()
    },
    reopen: copies.reopen,
    async close() {
      await purging.stop()
      await trail.close()
      await copies.close()
      await file.close()
    },
  }
}

function openTrail({ config, store, events, log }: AuditDeps, key: SigningKey | undefined) {
  const node = config().node.name
  const path = toCheckpointPath(config().audit['key-file'])
  const file = createCheckpointFile(path, createFailureReporter(events, CHECKPOINT))
  const onUnchecked = (reason: string) => events.record('audit.unchecked', { reason })
  const checkpoints = new Checkpoints({ node, store, key, file, clock: SYSTEM_CLOCK, onUnchecked })
  const reporter = createReporter(events)
  return { trail: createAuditTrail({ node, store, checkpoints, reporter, clock: SYSTEM_CLOCK, log }), file }
}

/** The destinations outside the store. */
function openCopies(deps: CopyDeps) {
  const copies = openDestinations(deps)
  const list = () => copies.map(({ destination, queue }) => ({ destination, ...queue.figures() }))
  return {
    list,
    add(record: AuditRecord) {
      for (const { queue } of copies) queue.add(record)
    },
    probe: () => Promise.all(copies.map(({ queue }) => queue.probe())),
    reopen() {
      for (const { queue } of copies) queue.reopen()
    },
    async close() {
      await Promise.all(copies.map(({ queue }) => queue.close()))
      for (const { destination, waiting } of list().filter((copy) => copy.waiting > 0))
        deps.log.error('audit records were lost: a destination cannot be written', { destination, count: waiting })
    },
  }
}

function requireWorking(destinations: ReturnType<Audit['listDestinations']>): void {
  if (destinations.some(({ problem }) => problem !== undefined))
    throw new Refusal('audit_unavailable', { retryAfterSeconds: RETRY_SECONDS })
}

async function list(store: AuditStore, trail: AuditTrail, range: Parameters<Audit['list']>[0]) {
  // while the store cannot be written, it may still be read
  await trail.flush().catch(() => {})
  return store.listAuditRecords(range)
}

interface ErasingParts extends Pick<AuditDeps, 'store' | 'events'>, Pick<AuditErasure, 'sign'> {
  readonly trail: AuditTrail
}

const PSEUDONYM_BYTES = 6

/** The erasure is recorded, so that `verify` can tell it from a name that an attacker has removed. */
async function erase(name: string, { store, events, trail, sign }: ErasingParts) {
  await confirmChange(events)
  await trail.flush()
  const pseudonym = `erased-${randomBytes(PSEUDONYM_BYTES).toString('hex')}`
  const records = await store.eraseAudit({ name, pseudonym, sign })
  if (records > 0) events.record('user.erased', { subject: pseudonym, records })
  await trail.flush()
  return { pseudonym, records }
}

/** About the time between two attempts to write. */
const RETRY_SECONDS = 10
const MAX_KEY_BYTES = 10_000

/** `undefined`: no key is configured. */
export function loadAuditKey(file: string): SigningKey | undefined {
  if (file === '') return undefined
  try {
    return readSigningKey(readBounded(file, { maxBytes: MAX_KEY_BYTES }).bytes.toString())
  } catch (error) {
    throw new StartError(`audit.key-file: ${file} cannot be used: ${reasonOf(error)}`, { cause: error })
  }
}

const STORE = 'store'
/** The file beside the key. */
const CHECKPOINT = 'checkpoint'

const createReporter = (events: SecurityEvents): AuditReporter => ({
  onBroken: ({ reason, expected, found }) => events.record('audit.broken', { reason, expected, found }),
  ...createFailureReporter(events, STORE),
})

const PURGE_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000

function createPurging({ config, store, log }: AuditDeps, trail: AuditTrail) {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const purge = async () => {
    const { audit, node } = config()
    if (audit.keep === 0) return
    const beforeMs = SYSTEM_CLOCK.nowMs() - audit.keep * DAY_MS
    await trail.purge(beforeMs)
    await store.forgetAuditNodes(beforeMs, node.name)
  }
  const run = () => {
    running = purge().catch((error) => log.warn('old audit records could not be deleted', { error }))
  }
  return {
    start() {
      timer ??= setInterval(run, PURGE_EVERY_MS).unref()
      run()
    },
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
