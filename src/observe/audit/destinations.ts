/** The places outside the store that get a copy of every audit record. */
import { createHmac } from 'node:crypto'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { promisify } from 'node:util'
import { messageOf } from '../../base/errors.ts'
import { createEmptyFile } from '../../base/files.ts'
import { PRODUCT } from '../../base/product.ts'
import type { Siblings, Topic } from '../../base/siblings.ts'
import { createTurns } from '../../base/turns.ts'
import type { SecurityEvents } from '../security-events.ts'
import { type AuditRecord, toShownRecord } from './audit-record.ts'
import { Delivery, type DeliveryPace } from './delivery.ts'
import { type LevelOf, TcpSyslog } from './tcp-syslog.ts'

export interface Destination {
  /** Throws if a record may be missing there. Without records it only finds out whether the destination works. */
  write(records: readonly AuditRecord[]): Promise<void>
  /** For a destination that learns later that records may not have arrived. */
  watch?(onUnsure: (records: readonly AuditRecord[], error: Error) => void): void
  /** For files, which another program may have renamed. */
  reopen?(): void
  /** Whether only one process of the server may write it. */
  readonly isExclusive?: boolean
  close?(): Promise<void>
}

/** The options about files, from `[audit]`, under their own names. */
export interface FileSettings {
  /** The size in bytes from which a file is rotated. */
  readonly 'file-size': number
  /** How many rotated files are kept. */
  readonly 'file-count': number
}

export interface DestinationSettings extends FileSettings {
  /** Signs the requests of a webhook. `undefined`: none is configured. */
  readonly webhookKey: Uint8Array | undefined
  readonly levelOf: LevelOf
}

/** The key is what the text of a destination begins with, up to the first colon. */
export const DESTINATION_KINDS: Readonly<Record<string, (text: string, settings: DestinationSettings) => Destination>> =
  {
    stdout: () => STDOUT,
    file: (text, settings) => createFileDestination(text.slice('file:'.length), settings),
    'syslog+tcp': (text, { levelOf }) => new TcpSyslog(new URL(text), levelOf),
    http: createWebhook,
    https: createWebhook,
  }

export function createDestination(text: string, settings: DestinationSettings): Destination {
  const [scheme = ''] = text.split(':', 1)
  const create = DESTINATION_KINDS[scheme]
  // the option accepts only these
  if (!create) throw new TypeError('there is no destination of this kind')
  return create(text, settings)
}

const BATCH_SIZE = 100

/** A destination with the records that wait for it. */
export class Copy extends Delivery<AuditRecord> {
  readonly #destination: Destination

  constructor(
    name: string,
    destination: Destination,
    events: Pick<SecurityEvents, 'record'>,
    pace?: Partial<DeliveryPace>,
  ) {
    const write = async (waiting: readonly AuditRecord[]) => {
      const batch = waiting.slice(0, BATCH_SIZE)
      await destination.write(batch)
      return batch.length
    }
    super({ name, write }, events, pace)
    this.#destination = destination
    destination.watch?.((records, error) => this.writeAgain(records, error))
  }

  reopen(): void {
    this.#destination.reopen?.()
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#destination.close?.()
  }
}

/** For logs, records and metrics: the path and query of a webhook may hold a secret. */
const toDestinationName = (text: string): string => (/^https?:/.test(text) ? new URL(text).origin : text)

/** The names of all destinations, in order. Two webhooks of one server get a number: metrics need unique names. */
export function toDestinationNames(texts: readonly string[]): readonly string[] {
  const names = texts.map(toDestinationName)
  return names.map((name, index) => {
    const count = names.slice(0, index).filter((other) => other === name).length
    return count === 0 ? name : `${name} (${count + 1})`
  })
}

/** One JSON object per line. */
const renderLines = (records: readonly AuditRecord[]): string =>
  records.map((record) => `${JSON.stringify(toShownRecord(record))}\n`).join('')

const writeOut = promisify((text: string, done: (error?: Error | null) => void) =>
  process.stdout.write(text, (error) => {
    // The stream emits the error after this. A program that uses the library may have no listener for it.
    if (error && process.stdout.listenerCount('error') === 0) process.stdout.once('error', () => {})
    done(error)
  }),
)

/** Standard output. The log goes to standard error. */
const STDOUT: Destination = { write: (records) => writeOut(renderLines(records)) }

const OWNER_AND_GROUP = 0o640

/** Above its size the file becomes `path.1`, that one `path.2`, and so on. */
function createFileDestination(path: string, settings: DestinationSettings): Destination {
  let file: FileHandle | undefined
  let isStale = false
  const close = async () => {
    const opened = file
    file = undefined
    await opened?.close()
  }
  const openFile = async () => {
    if (!file) createEmptyFile(path, OWNER_AND_GROUP)
    file ??= await open(path, 'a', OWNER_AND_GROUP)
    return file
  }
  return {
    async write(records) {
      if (isStale) await close()
      isStale = false
      const text = renderLines(records)
      const { size } = await (await openFile()).stat()
      if (size > 0 && size + Buffer.byteLength(text) > settings['file-size']) {
        await close()
        await rotate(path, settings['file-count'])
      }
      await (await openFile()).appendFile(text)
    },
    reopen() {
      isStale = true
    },
    isExclusive: true,
    close,
  }
}

/** The destination as all processes use it: if it is exclusive, the first of them writes for all. */
export function shareDestination(text: string, destination: Destination, siblings: Siblings): Destination {
  if (!destination.isExclusive) return destination
  // why it failed; `undefined`: the records are written
  const topic: Topic<readonly AuditRecord[], string | undefined> = { name: `audit.write ${text}` }
  const inTurn = createTurns()
  siblings.answer(topic, (records) => inTurn(() => destination.write(records)).then(() => undefined, messageOf))
  const write = async (records: readonly AuditRecord[]) => {
    const problem = await siblings.askFirst(topic, records)
    if (problem !== undefined) throw new Error(problem)
  }
  return { ...destination, write }
}

async function rotate(path: string, maxFiles: number): Promise<void> {
  for (let number = maxFiles; number > 0; number -= 1) {
    const from = number === 1 ? path : `${path}.${number - 1}`
    await rename(from, `${path}.${number}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}

const RESPONSE_MS = 10_000

/** Sends records as `POST` with `{"records": […]}`. Every status of 2xx means that they are stored. */
function createWebhook(url: string, { webhookKey }: DestinationSettings): Destination {
  return {
    async write(records) {
      const body = JSON.stringify({ records: records.map(toShownRecord) })
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'User-Agent': `${PRODUCT.name}/${PRODUCT.version}`,
          ...(webhookKey && { 'X-Cardea-Signature': signBody(body, webhookKey) }),
        },
        body,
        // a redirect could lead the records to another server
        redirect: 'error',
        signal: AbortSignal.timeout(RESPONSE_MS),
      })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`the webhook responded with ${response.status}`)
    },
  }
}

/** `t=SECONDS,v1=HEX`: the HMAC-SHA256 of `SECONDS.BODY`. */
function signBody(body: string, key: Uint8Array): string {
  const seconds = Math.floor(Date.now() / 1000)
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`
}
