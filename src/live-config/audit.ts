// Opens the audit trail as the options say: its key, its checkpoints, and how long its records are kept.

import { randomBytes } from 'node:crypto'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { readBounded } from '../base/files.ts'
import type { Log } from '../base/log.ts'
import { confirmChange } from '../directory/confirm-change.ts'
import type { AuditRecord, ChainPlace } from '../observe/audit/audit-record.ts'
import type { AuditRange, AuditStore, SignChain } from '../observe/audit/audit-store.ts'
import {
  type AuditFigures,
  type AuditReporter,
  type AuditTrail,
  createAuditTrail,
} from '../observe/audit/audit-trail.ts'
import { readSigningKey, type SigningKey, signCheckpoint } from '../observe/audit/checkpoint.ts'
import {
  type CheckpointFile,
  createCheckpointFile,
  loadCheckpoint,
  toCheckpointPath,
} from '../observe/audit/checkpoint-file.ts'
import type { RecordGuard } from '../observe/security-events.ts'
import { createFailureReporter, type DestinationDeps, openDestinations } from './audit-destinations.ts'
import { reasonOf, StartError } from './start-error.ts'

export interface Audit extends Omit<AuditTrail, 'figures'>, RecordGuard {
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
  /** Opens files again, after another program has renamed them. */
  reopen(): void
}

export interface AuditDeps extends DestinationDeps {
  readonly store: AuditStore
  readonly log: Log
}

/** Throws a `StartError` if the key cannot be used. */
export function openAudit(deps: AuditDeps): Audit {
  const { config, store, log } = deps
  const node = config().node.name
  const keyFile = config().audit['key-file']
  const checkpoints = createCheckpoints(loadAuditKey(keyFile), createFile(keyFile, log))
  const trail = createAuditTrail({
    node,
    store,
    sign: checkpoints.sign,
    reporter: createReporter(deps, { keyFile, onStored: checkpoints.save }),
    clock: SYSTEM_CLOCK,
    log,
  })
  const purging = createPurging(deps, checkpoints)
  const copies = openDestinations(deps)
  trail.onRecord((record) => {
    for (const { queue } of copies) queue.add(record)
  })
  const listDestinations = () => [
    { ...STORE, ...trail.figures() },
    ...copies.map(({ destination, queue }) => ({ destination, ...queue.figures() })),
  ]
  return {
    append: (record) => trail.append(record),
    onRecord: (listener) => trail.onRecord(listener),
    flush: () => trail.flush(),
    listDestinations,
    requireRecording() {
      if (config().audit['on-failure'] === 'refuse') requireWorking(listDestinations())
    },
    list: (range) => list(store, trail, range),
    erase: (name) => erase(name, deps, trail),
    startPurging: purging.start,
    reopen() {
      for (const { queue } of copies) queue.reopen()
    },
    async close() {
      await purging.stop()
      await trail.close()
      await Promise.all(copies.map(({ queue }) => queue.close()))
      await checkpoints.settled()
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

const PSEUDONYM_BYTES = 6

/** The erasure is recorded, so that `verify` can tell it from a name that an attacker has removed. */
async function erase(name: string, { store, events }: AuditDeps, trail: AuditTrail) {
  await confirmChange(events)
  await trail.flush()
  const pseudonym = `erased-${randomBytes(PSEUDONYM_BYTES).toString('hex')}`
  const records = await store.eraseAudit({ name, pseudonym })
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

const createFile = (keyFile: string, log: Log): CheckpointFile =>
  createCheckpointFile(toCheckpointPath(keyFile), (error) => {
    log.error('the checkpoint of the audit trail cannot be written beside its key', { error })
  })

/** Signs in the transaction that changes the chain; the file is written once the change is in the store. */
function createCheckpoints(key: SigningKey | undefined, file: CheckpointFile) {
  let newest: string | undefined
  const sign: SignChain = (chain) => {
    newest = key && signCheckpoint({ ...chain, time: SYSTEM_CLOCK.nowMs() }, key)
    return newest
  }
  const save = () => {
    if (newest !== undefined) file.save(newest)
  }
  return { sign, save, settled: file.settled }
}

type Checkpoints = ReturnType<typeof createCheckpoints>

const STORE = { destination: 'store' } as const

function createReporter(
  { config, events }: AuditDeps,
  { keyFile, onStored }: { readonly keyFile: string; onStored(): void },
): AuditReporter {
  return {
    onOpened({ sequence }: ChainPlace) {
      const known = keyFile === '' ? undefined : loadCheckpoint(toCheckpointPath(keyFile))
      if (known?.node !== config().node.name || known.sequence <= sequence) return
      events.record('audit.truncated', { expected: known.sequence, found: sequence })
    },
    onStored,
    ...createFailureReporter(events, STORE.destination),
  }
}

const PURGE_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000

function createPurging({ config, store, log }: AuditDeps, { sign, save }: Checkpoints) {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const purge = async () => {
    const { audit, node } = config()
    if (audit.keep === 0) return
    const beforeMs = SYSTEM_CLOCK.nowMs() - audit.keep * DAY_MS
    const deleted = await store.purgeAudit({ node: node.name, beforeMs, sign })
    if (deleted > 0) save()
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
