// Opens the audit trail as the options say: its key, its destinations, and how long its records are kept.

import { randomBytes } from 'node:crypto'
import type { SharedClock } from '../base/clock.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Siblings, Topic } from '../base/siblings.ts'
import { shareRun } from '../base/turns.ts'
import { type Caller, requireChange } from '../directory/caller.ts'
import { toChainName } from '../observe/audit/audit-chains.ts'
import type { AuditSigningKey } from '../observe/audit/audit-key.ts'
import type { AuditRecord } from '../observe/audit/audit-record.ts'
import type { AuditRange, AuditStore } from '../observe/audit/audit-store.ts'
import { AuditTrail } from '../observe/audit/audit-trail.ts'
import { forgetCheckpoints, loadCheckpoints } from '../observe/audit/checkpoint-files.ts'
import { Checkpoints } from '../observe/audit/checkpoints.ts'
import type { Delivery } from '../observe/audit/delivery.ts'
import {
  Copy,
  createDestination,
  type FileSettings,
  shareDestination,
  toDestinationNames,
} from '../observe/audit/destinations.ts'
import { type VerifiedTrail, type VerifyOptions, verifyTrail } from '../observe/audit/verify.ts'
import type { EventRow } from '../observe/security-event-table.ts'
import type { RecordGuard, SecurityEvents } from '../observe/security-events.ts'
import type { SecurityRecord } from '../observe/security-record.ts'
import { readAuditContent } from '../store/backup/audit-content.ts'
import { readStore } from '../store/backup/engines.ts'
import { BackupError } from '../store/backup/format.ts'
import { loadAuditKey, loadWebhookKey } from './audit-keys.ts'

/** The options that the audit trail reads, by section, under their own names. */
export interface AuditSettings {
  readonly node: { readonly name: string }
  readonly audit: DestinationOptions & {
    /** Signs checkpoints; empty: there are none. */
    readonly 'key-file': string
    /** Days; 0: forever. */
    readonly keep: number
    /** Whether what cannot be recorded is refused. */
    readonly 'on-failure': 'continue' | 'refuse'
  }
}

interface DestinationOptions extends FileSettings {
  readonly destinations: readonly string[]
  readonly 'webhook-key-file': string
}

export interface CopyOptions {
  settings(): AuditSettings
  readonly events: SecurityEvents
  readonly log: Log
  /** Whether a command runs, which prints results of its own on standard output. */
  readonly isCommand: boolean
  readonly siblings: Siblings
}

export interface AuditOptions extends CopyOptions {
  readonly store: AuditStore
  readonly storeUrl: string
  readonly clock: SharedClock
}

/** Write to the store what waits for it. */
const FLUSH: Topic<undefined> = { name: 'audit.flush' }

const PURGE_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
const PSEUDONYM_BYTES = 6

export class Audit implements RecordGuard {
  readonly #options: AuditOptions
  readonly #siblings: Siblings
  readonly #key: AuditSigningKey | undefined
  readonly #trail: AuditTrail
  readonly #checkpoints: Checkpoints
  readonly #copies: readonly Copy[]
  /** The store, the file with the checkpoint, and the copies. */
  readonly #deliveries: readonly Delivery<unknown>[]
  #timer: NodeJS.Timeout | undefined
  #purging: Promise<void> = Promise.resolve()

  /** Throws a `StartError` if a key cannot be used. */
  constructor(options: AuditOptions) {
    this.#options = options
    const { store, clock, events, log, siblings } = options
    this.#siblings = siblings
    const keyFile = options.settings().audit['key-file']
    this.#key = loadAuditKey(keyFile)
    const node = () => toChainName(options.settings().node.name, siblings.place)
    const checkpoints = new Checkpoints({ node, store, key: this.#key, keyFile, clock, events })
    this.#checkpoints = checkpoints
    this.#trail = new AuditTrail({ node, store, clock, checkpoints, events, log })
    this.#copies = openCopies(options)
    this.#deliveries = [this.#trail.delivery, checkpoints.file, ...this.#copies]
    this.#trail.onRecord((record) => {
      for (const copy of this.#copies) copy.add(record)
    })
    siblings.answer(FLUSH, () => this.#flushOwn().catch(() => {}))
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
    return this.#options.settings().audit['on-failure'] === 'refuse'
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
    await this.#flush().catch(() => {})
    return this.#options.store.listAuditRecords(range)
  }

  /**
   * Replaces the name in all records of the store, and the addresses that this user had. Records that other nodes are
   * writing at this moment keep the name. Returns what the records show instead, and how many were changed. The erasure
   * is recorded, so that `verify` can tell it from a name that an attacker has removed.
   */
  async erase(name: string, caller: Caller) {
    const { store, events } = this.#options
    await requireChange(caller, events)
    await this.#flush()
    const pseudonym = `erased-${randomBytes(PSEUDONYM_BYTES).toString('hex')}`
    const records = await store.eraseAudit({ name, pseudonym, key: this.#key })
    if (records > 0) events.record('user.erased', { subject: pseudonym, records })
    await this.#trail.delivery.flush()
    return { pseudonym, records }
  }

  /** Several callers at a time get the result of one verification. */
  readonly verify = shareRun(async (): Promise<VerifiedTrail> => {
    const { settings, storeUrl, events } = this.#options
    const { audit, node } = settings()
    await this.#flush()
    const keys = { keys: this.#key ? [this.#key] : [], hasOwnKeyOnly: true }
    const verified = await verifyStored(storeUrl, { keyFile: audit['key-file'], node: node.name }, keys).catch(
      (error) => {
        throw error instanceof BackupError ? badRequest(error.message) : error
      },
    )
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

  /** Writes the records of all processes of this server. Throws if those of this one cannot be written. */
  async #flush(): Promise<void> {
    await Promise.all([this.#flushOwn(), this.#siblings.askAll(FLUSH, undefined)])
  }

  async #flushOwn(): Promise<void> {
    await this.#trail.delivery.flush()
    // `verify` compares the file with the store
    await this.#checkpoints.file.flush().catch(() => {})
  }

  async #purge(): Promise<void> {
    const { settings, store, clock } = this.#options
    const { keep, 'key-file': keyFile } = settings().audit
    if (keep === 0) return
    const beforeMs = clock.purge.nowMs() - keep * DAY_MS
    await this.#trail.purge(beforeMs)
    if (!this.#siblings.isFirst()) return
    await store.forgetAuditChains(beforeMs)
    const isStored = async (chain: string) => (await store.findAuditChain(chain)) !== undefined
    if (keyFile !== '') await forgetCheckpoints(keyFile, beforeMs, isStored)
  }
}

/** `requireRecording` for a command that replaces the store, which may be damaged: tries the other destinations only. */
export async function requireDestinations(options: CopyOptions): Promise<void> {
  if (options.settings().audit['on-failure'] !== 'refuse') return
  const copies = openCopies(options)
  try {
    await probeAll(copies)
    requireWorking(copies)
  } finally {
    await closeAll(copies)
  }
}

/** The destinations outside the store that this process writes to. */
function openCopies({ settings, events, isCommand, siblings }: CopyOptions): readonly Copy[] {
  const { audit } = settings()
  const { destinations } = audit
  const rows: Readonly<Record<string, EventRow>> = events.rows
  const files = {
    ...audit,
    webhookKey: loadWebhookKey(destinations, audit['webhook-key-file']),
    levelOf: (event: string) => rows[event]?.level,
  }
  const names = toDestinationNames(destinations)
  const open = (text: string) => shareDestination(text, createDestination(text, files), siblings)
  return destinations.flatMap((text, index) =>
    isCommand && text === 'stdout' ? [] : [new Copy(names[index] ?? text, open(text), events)],
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
  { keyFile, node }: { readonly keyFile: string; readonly node: string },
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
