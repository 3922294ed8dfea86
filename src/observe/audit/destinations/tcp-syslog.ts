/**
 * Messages of RFC 5424 over TCP with octet counting (RFC 6587). There is no acknowledgement: what was sent lately may be
 * lost when a connection breaks, so it is sent again.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { AuditRecord } from '../audit-record.ts'
import type { Destination, OnUnsure } from './destination.ts'
import { renderSyslog, toHost } from './syslog.ts'

const DEFAULT_PORT = 601
const CONNECT_MS = 5000
const WRITE_MS = 10_000
const KEEP_ALIVE_MS = 30_000
/** Longer than the system sends data again to a receiver that does not respond. */
const UNSURE_MS = 20 * 60_000
const MAX_UNSURE = 1000
/** A receiver that ends a connection in order has read what it got earlier than this. */
const SETTLE_MS = 5000

interface Sent {
  readonly atMs: number
  readonly records: readonly AuditRecord[]
}

export class TcpSyslog implements Destination {
  readonly #url: URL
  readonly #settleMs: number
  #connection: Socket | undefined
  /** Whether the last connection broke. Then a write counts only if its connection does not break soon, too. */
  #isSuspect = false
  #sent: Sent[] = []
  #onUnsure: OnUnsure = () => {}

  constructor(url: URL, settleMs = SETTLE_MS) {
    this.#url = url
    this.#settleMs = settleMs
  }

  watch(onUnsure: OnUnsure): void {
    this.#onUnsure = onUnsure
  }

  async write(records: readonly AuditRecord[]): Promise<void> {
    const socket = this.#connection ?? (await this.#open())
    try {
      const frames = records.map(renderSyslog).map((text) => `${text.length} ${text}`)
      await writeAll(socket, frames.join(''))
      if (this.#isSuspect) await this.#settle(socket)
      if (socket !== this.#connection) throw new Error(CLOSED)
    } catch (error) {
      this.#onBreak(socket, error as Error)
      throw error
    }
    this.#isSuspect = false
    this.#note({ atMs: performance.now(), records })
  }

  async close(): Promise<void> {
    this.#connection?.end()
    this.#connection = undefined
  }

  async #open(): Promise<Socket> {
    const socket = connect({ host: toHost(this.#url), port: Number(this.#url.port || DEFAULT_PORT), keepAlive: true })
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

  /** Waits until the connection breaks, or has lasted. */
  async #settle(socket: Socket): Promise<void> {
    const stop = new AbortController()
    const broken = once(socket, 'close', { signal: stop.signal }).catch(() => {})
    await Promise.race([broken, pause(this.#settleMs, undefined, { signal: stop.signal })])
    stop.abort()
  }

  #note(sent: Sent): void {
    this.#sent.push(sent)
    let count = this.#sent.reduce((sum, { records }) => sum + records.length, 0)
    while (count > MAX_UNSURE) count -= this.#sent.shift()?.records.length ?? count
  }

  /** Without an error the server ended the connection. */
  #onBreak(socket: Socket, error?: Error): void {
    socket.destroy()
    if (socket !== this.#connection) return
    this.#connection = undefined
    const sinceMs = performance.now() - (error ? UNSURE_MS : this.#settleMs)
    const unsure = this.#sent.filter(({ atMs }) => atMs >= sinceMs).flatMap(({ records }) => records)
    this.#sent = []
    if (unsure.length > 0 || error) this.#isSuspect = true
    if (unsure.length > 0) this.#onUnsure(unsure, error ?? new Error(CLOSED))
  }
}

const CLOSED = 'the syslog server closed the connection'

function writeAll(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the syslog server accepts no data')), WRITE_MS)
    socket.write(text, (error) => {
      clearTimeout(late)
      if (error) reject(error)
      else resolve()
    })
  })
}
