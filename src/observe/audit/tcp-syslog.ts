/**
 * Messages of RFC 5424 over TCP with octet counting (RFC 6587). There is no acknowledgement: what was sent lately may be
 * lost when a connection breaks, so it is sent again.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { waitAtMost } from '../../base/sleep.ts'
import type { EventRow } from '../security-event-table.ts'
import { type AuditRecord, toShownRecord } from './audit-record.ts'

const DEFAULT_PORT = 601
const CONNECT_MS = 5000
const WRITE_MS = 10_000
const KEEP_ALIVE_MS = 30_000
/** Longer than the system sends data again to a receiver that does not respond. */
const UNSURE_MS = 20 * 60_000
const MAX_UNSURE = 1000
/** A receiver that ends a connection in order has read what it got earlier than this. */
const SETTLE_MS = 5000

/** The level of an event; `undefined`: another version has recorded it. */
export type LevelOf = (event: string) => EventRow['level'] | undefined

export class TcpSyslog {
  readonly #url: URL
  readonly #levelOf: LevelOf
  readonly #settleMs: number
  #connection: Socket | undefined
  /** Whether the last connection broke. Then a write counts only if its connection does not break soon, too. */
  #isSuspect = false
  /** The records that were sent last over this connection. */
  #sent: readonly { readonly atMs: number; readonly record: AuditRecord }[] = []
  #onUnsure: (records: readonly AuditRecord[], error: Error) => void = () => {}

  constructor(url: URL, levelOf: LevelOf, settleMs = SETTLE_MS) {
    this.#url = url
    this.#levelOf = levelOf
    this.#settleMs = settleMs
  }

  watch(onUnsure: (records: readonly AuditRecord[], error: Error) => void): void {
    this.#onUnsure = onUnsure
  }

  async write(records: readonly AuditRecord[]): Promise<void> {
    const socket = this.#connection ?? (await this.#open())
    try {
      const frames = records
        .map((record) => renderSyslog(record, this.#levelOf))
        .map((text) => `${text.length} ${text}`)
      await writeAll(socket, frames.join(''))
      if (this.#isSuspect) await waitAtMost([once(socket, 'close')], this.#settleMs)
      if (socket !== this.#connection) throw new Error(CLOSED)
    } catch (error) {
      this.#onBreak(socket, error as Error)
      throw error
    }
    this.#isSuspect = false
    const atMs = performance.now()
    this.#sent = [...this.#sent, ...records.map((record) => ({ atMs, record }))].slice(-MAX_UNSURE)
  }

  async close(): Promise<void> {
    this.#connection?.end()
    this.#connection = undefined
  }

  async #open(): Promise<Socket> {
    const host = this.#url.hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(this.#url.port || DEFAULT_PORT) })
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    this.#connection = socket
    socket.on('error', (error) => this.#onBreak(socket, error))
    for (const event of ['end', 'close']) socket.on(event, () => this.#onBreak(socket))
    // what the server sends is not used, but a full buffer would hide that it closes the connection
    socket.resume()
    socket.unref()
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) })
      return socket
    } catch (error) {
      this.#onBreak(socket, error as Error)
      throw error
    }
  }

  /** Without an error the server ended the connection. */
  #onBreak(socket: Socket, error?: Error): void {
    socket.destroy()
    if (socket !== this.#connection) return
    this.#connection = undefined
    const sinceMs = performance.now() - (error ? UNSURE_MS : this.#settleMs)
    const unsure = this.#sent.filter(({ atMs }) => atMs >= sinceMs).map(({ record }) => record)
    this.#sent = []
    if (unsure.length > 0 || error) this.#isSuspect = true
    if (unsure.length > 0) this.#onUnsure(unsure, error ?? new Error(CLOSED))
  }
}

const CLOSED = 'the syslog server closed the connection'

const writeAll = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the syslog server accepts no data')), WRITE_MS)
    socket.write(text, (error) => {
      clearTimeout(late)
      if (error) reject(error)
      else resolve()
    })
  })

/** Facility 13: log audit. */
const FACILITY = 13
const SEVERITIES: Readonly<Record<EventRow['level'], number>> = { error: 3, warn: 4, info: 6 }

function renderSyslog(record: AuditRecord, levelOf: LevelOf): string {
  const priority = FACILITY * 8 + SEVERITIES[levelOf(record.event) ?? 'info']
  const time = new Date(record.time).toISOString()
  return `<${priority}>1 ${time} ${toToken(hostname(), 255)} cardea ${process.pid} ${toToken(record.event, 32)} - ${renderAscii(toShownRecord(record))}`
}

/** Printable ASCII without spaces. */
const toToken = (text: string, max: number): string => text.replace(/[^\x21-\x7e]/g, '').slice(0, max) || '-'

/** JSON with escapes only, so that the message needs no mark of its encoding. */
const renderAscii = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
