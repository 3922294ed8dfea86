// Opens the audit trail as the options say: its key, its destinations, and how long its records are kept.

import { randomBytes } from 'node:crypto'
import type { SharedClock } from '../base/clock.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import { readBounded } from '../base/files.ts'
import type { Log } from '../base/log.ts'
import { shareRun } from '../base/turns.ts'
import { confirmChange } from '../directory/confirm-change.ts'
import { type AuditSigningKey, readSigningKey } from '../observe/audit/audit-key.ts'
import type { AuditRecord } from '../observe/audit/audit-record.ts'
import type { AuditRange, AuditStore } from '../observe/audit/audit-store.ts'
import { AuditTrail } from '../observe/audit/audit-trail.ts'
import { forgetCheckpoints, loadCheckpoints } from '../observe/audit/checkpoint-files.ts'
import { Checkpoints } from '../observe/audit/checkpoints.ts'
import type { Delivery } from '../observe/audit/delivery.ts'
import { Copy, createDestination, toDestinationNames } from '../observe/audit/destinations.ts'
import { type VerifiedTrail, type VerifyOptions, verifyTrail } from '../observe/audit/verify.ts'
import type { RecordGuard, SecurityEvents } from '../observe/security-events.ts'
import type { SecurityRecord } from '../observe/security-record.ts'
import { readAuditContent } from '../store/backup/audit-content.ts'
import { readStore } from '../store/backup/engines.ts'
import { BackupError } from '../store/backup/format.ts'
import { reasonOf, StartError } from './start-error.ts'

export interface AuditSettings {
  /** Name of this node. */
  readonly node: string
  /** Signs checkpoints; empty: there are none. */
  readonly keyFile: string
  readonly webhookKeyFile: string
  readonly destinations: readonly string[]
  readonly maxFileBytes: number
  readonly maxFiles: number
  /** 0: forever. */
  readonly keepDays: number
  /** Whether what cannot be recorded is refused. */
  readonly refusesUnrecorded: boolean
}

export interface CopyOptions {
  settings(): AuditSettings
  readonly events: SecurityEvents
  readonly log: Log
  /** Whether a command runs, which prints results of its own on standard output. */
  readonly isCommand: boolean
}

export interface AuditOptions extends CopyOptions {
  readonly store: AuditStore
  readonly storeUrl: string
  readonly clock: SharedClock
}

const PURGE_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
const PSEUDONYM_BYTES = 6

export class Audit implements RecordGuard {
  readonly #options: AuditOptions
  readonly #key: AuditSigningKey | undefined
  readonly #trail: AuditTrail
  readonly #copies: readonly Copy[]
  /** The store, the file with the checkpoint, and the copies. */
  readonly #deliveries: readonly Delivery<unknown>[]
  #timer: NodeJS.Timeout | undefined
  #purging: Promise<void> = Promise.resolve()

  /** Throws a `StartError` if a key cannot be used. */
  constructor(options: AuditOptions) {
    this.#options = options
    const { store, clock, events, log } = options
    const { keyFile } = options.settings()
    this.#key = loadAuditKey(keyFile)
    const node = () => options.settings().node
    const checkpoints = new Checkpoints({ node, store, key: this.#key, keyFile, clock, events })
    this.#trail = new AuditTrail({ node, store, clock, checkpoints, events, log })
    this.#copies = openCopies(options)
    this.#deliveries = [this.#trail.delivery, checkpoints.file, ...this.#copies]
    this.#trail.onRecord((record) => {
      for (const copy of this.#copies) copy.add(record)
    })
  }

  /** Identifies the key of the checkpoints; `undefined`: there is none. */
  get keyId(): string | undefined {
    return this.#key?.id
  }

  append(record: SecurityRecord): void {
    this.#trail.delivery.add(record)
  }

  /** Called with every record once it is sealed, in order. Returns a function that removes the listener. */
  onRecord(listener: (record: AuditRecord) => void): () => void {
    return this.#trail.onRecord(listener)
  }

  listDestinations() {
    return this.#deliveries.map((delivery) => ({ destination: delivery.name, ...delivery.figures() }))
  }

  /** Whether what cannot be recorded is refused. */
  get isRequired(): boolean {
    return this.#options.settings().refusesUnrecorded
  }

  requireRecording(): void {
    if (this.isRequired) requireWorking(this.#deliveries)
  }

  findProblem = (): string | undefined => {
    const failing = findFailing(this.#deliveries)
    return failing && `${failing.name}: ${failing.figures().problem}`
  }

  /** One page, with the records that were not written yet when it was called. */
  async list(range: AuditRange): Promise<readonly AuditRecord[]> {
    // while the store cannot be written, it may still be read
    await this.#trail.delivery.flush().catch(() => {})
    return this.#options.store.listAuditRecords(range)
  }

  /**
   * Replaces the name in all records of the store, and the addresses that this user had. Records that other nodes are
   * writing at this moment keep the name. Returns what the records show instead, and how many were changed. The erasure
   * is recorded, so that `verify` can tell it from a name that an attacker has removed.
   */
  async erase(name: string) {
    const { store, events } = this.#options
    await confirmChange(events)
    await this.#trail.delivery.flush()
    const pseudonym = `erased-${randomBytes(PSEUDONYM_BYTES).toString('hex')}`
    const records = await store.eraseAudit({ name, pseudonym, key: this.#key })
    if (records > 0) events.record('user.erased', { subject: pseudonym, records })
    await this.#trail.delivery.flush()
    return { pseudonym, records }
  }

  /** Several callers at a time get the result of one verification. */
  readonly verify = shareRun(async (): Promise<VerifiedTrail> => {
    const { settings, storeUrl, events } = this.#options
    await this.#trail.delivery.flush()
    const keys = { keys: this.#key ? [this.#key] : [], hasOwnKeyOnly: true }
    const verified = await verifyStored(storeUrl, settings(), keys).catch((error) => {
      throw error instanceof BackupError ? badRequest(error.message) : error
    })
    events.record('audit.verified', countVerified(verified))
    return verified
  })

  /** Deletes records that are too old, now and from time to time until it is closed. */
  startPurging(): void {
    const run = () => {
      const warn = (error: unknown) => this.#options.log.warn('old audit records could not be deleted', { error })
      this.#purging = this.#purge().catch(warn)
    }
    this.#timer ??= setInterval(run, PURGE_EVERY_MS).unref()
    run()
  }

  /** For a command, before it changes something: finds out which destinations fail, if `requireRecording` asks for it. */
  async probe(): Promise<void> {
    if (this.isRequired) await probeAll(this.#copies)
  }

  /** Opens files again, after another program has renamed them. */
  reopen(): void {
    for (const copy of this.#copies) copy.reopen()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#purging
    // the last records of the store still have to reach the others
    const [store, ...others] = this.#deliveries
    await store?.close()
    await closeAll(others)
    reportLost([this.#trail.delivery, ...this.#copies], this.#options.log)
  }

  async #purge(): Promise<void> {
    const { settings, store, clock } = this.#options
    const { keepDays, node, keyFile } = settings()
    if (keepDays === 0) return
    const beforeMs = clock.purge.nowMs() - keepDays * DAY_MS
    await this.#trail.purge(beforeMs)
    if (keyFile !== '') forgetCheckpoints(keyFile, node, beforeMs)
    await store.forgetAuditNodes(beforeMs, node)
  }
}

/** `requireRecording` for a command that replaces the store, which may be damaged: tries the other destinations only. */
export async function requireDestinations(options: CopyOptions): Promise<void> {
  if (!options.settings().refusesUnrecorded) return
  const copies = openCopies(options)
  try {
    await probeAll(copies)
    requireWorking(copies)
  } finally {
    await closeAll(copies)
  }
}

/** The destinations outside the store that this process writes to. */
function openCopies({ settings, events, isCommand }: CopyOptions): readonly Copy[] {
  const { destinations, maxFileBytes, maxFiles } = settings()
  const files = { maxFileBytes, maxFiles, webhookKey: loadWebhookKey(settings()) }
  const names = toDestinationNames(destinations)
  return destinations.flatMap((text, index) =>
    isCommand && text === 'stdout' ? [] : [new Copy(names[index] ?? text, createDestination(text, files), events)],
  )
}

const probeAll = (copies: readonly Copy[]) => Promise.all(copies.map((copy) => copy.probe()))

const closeAll = (deliveries: readonly Delivery<unknown>[]) =>
  Promise.all(deliveries.map((delivery) => delivery.close()))

function reportLost(deliveries: readonly Delivery<unknown>[], log: Log): void {
  for (const delivery of deliveries) {
    const { waiting: count } = delivery.figures()
    const destination = delivery.name
    if (count > 0) log.error('audit records were lost: a destination cannot be written', { destination, count })
  }
}

/** About the time between two attempts to write. */
const RETRY_SECONDS = 10

const findFailing = (deliveries: readonly Delivery<unknown>[]) =>
  deliveries.find((delivery) => delivery.figures().problem !== undefined)

function requireWorking(deliveries: readonly Delivery<unknown>[]): void {
  if (findFailing(deliveries)) throw new Refusal('audit_unavailable', { retryAfterSeconds: RETRY_SECONDS })
}

/** Reads the store by itself, and before it the checkpoints beside the key, which must not be newer. */
export async function verifyStored(
  storeUrl: string,
  { keyFile, node }: Pick<AuditSettings, 'keyFile' | 'node'>,
  keys: Omit<VerifyOptions, 'local'>,
): Promise<VerifiedTrail> {
  const local = keyFile === '' ? undefined : loadCheckpoints(keyFile, node)
  return readStore(storeUrl, async (snapshot) => verifyTrail(await readAuditContent(snapshot), { ...keys, local }))
}

/** What is recorded of a verification. */
export const countVerified = ({ chains, findings }: VerifiedTrail) => ({
  records: chains.reduce((sum, chain) => sum + chain.records, 0),
  findings: findings.length,
})

/** `undefined`: no key is configured. */
export const loadAuditKey = (file: string): AuditSigningKey | undefined =>
  file === '' ? undefined : loadKeyFile('audit.key-file', file, readSigningKey)

/** `undefined`: there is no webhook. */
export function loadWebhookKey({
  destinations,
  webhookKeyFile: file,
}: Pick<AuditSettings, 'destinations' | 'webhookKeyFile'>): Uint8Array | undefined {
  if (!destinations.some((text) => /^https?:/.test(text))) return undefined
  if (file === '') throw new StartError('audit.webhook-key-file: a webhook in audit.destinations needs it')
  return loadKeyFile('audit.webhook-key-file', file, (text) => {
    if (text.trim() === '') throw new Error('it is empty')
    return Buffer.from(text.trim())
  })
}

const MAX_KEY_BYTES = 10_000

/** Throws a `StartError` that begins with the name of the option. */
export function loadKeyFile<K>(option: string, file: string, read: (text: string) => K): K {
  try {
    return read(readBounded(file, MAX_KEY_BYTES).bytes.toString())
  } catch (error) {
    throw new StartError(`${option}: ${file} cannot be used: ${reasonOf(error)}`, { cause: error })
  }
}
