/** Messages of RFC 5424, over UDP (RFC 5426) or over TCP with octet counting (RFC 6587). */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, isIPv6, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { type EventRow, SECURITY_EVENTS } from '../../security-event-table.ts'
import { type AuditRecord, toShownRecord } from '../audit-record.ts'
import type { Destination } from './destination.ts'

/** Facility 13: log audit. */
const FACILITY = 13
const SEVERITIES: Readonly<Record<EventRow['level'], number>> = { error: 3, warn: 4, info: 6 }
const NAME = 'cardea'
const DEFAULT_UDP_PORT = 514
const DEFAULT_TCP_PORT = 601
const CONNECT_MS = 5000

export function renderSyslog(record: AuditRecord): string {
  const rows: Readonly<Record<string, EventRow>> = SECURITY_EVENTS
  const priority = FACILITY * 8 + SEVERITIES[rows[record.event]?.level ?? 'info']
  const time = new Date(record.time).toISOString()
  return `<${priority}>1 ${time} ${toToken(hostname(), 255)} ${NAME} ${process.pid} ${toToken(record.event, 32)} - ${renderAscii(toShownRecord(record))}`
}

/** Printable ASCII without spaces. */
const toToken = (text: string, max: number): string => text.replace(/[^\x21-\x7e]/g, '').slice(0, max) || '-'

/** JSON with escapes only, so that the message needs no mark of its encoding. */
const renderAscii = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Datagrams can be lost on the way, which the sender does not learn. */
export function createUdpSyslog(url: URL): Destination {
  const host = toHost(url)
  let socket: UdpSocket | undefined
  const openSocket = (): UdpSocket => {
    const opened = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
    opened.unref()
    // an error of one datagram is given to its `send`
    opened.on('error', () => {})
    socket = opened
    return opened
  }
  const port = Number(url.port || DEFAULT_UDP_PORT)
  const sendOne = (to: UdpSocket, text: string) =>
    new Promise<void>((resolve, reject) => to.send(text, port, host, (error) => (error ? reject(error) : resolve())))
  return {
    async write(records) {
      for (const record of records) await sendOne(socket ?? openSocket(), renderSyslog(record))
    },
    async close() {
      socket?.close()
      socket = undefined
    },
  }
}

export function createTcpSyslog(url: URL): Destination {
  const port = Number(url.port || DEFAULT_TCP_PORT)
  let connection: Socket | undefined
  const forget = () => {
    connection?.destroy()
    connection = undefined
  }
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: toHost(url), port })
    connection = socket
    socket.on('error', forget).on('close', forget).on('end', forget)
    // what the server sends is not used, but a full buffer would hide that it closes the connection
    socket.resume()
    socket.unref()
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) })
    return socket
  }
  return {
    async write(records) {
      try {
        const socket = connection ?? (await open())
        const frames = records.map(renderSyslog).map((text) => `${text.length} ${text}`)
        await writeAll(socket, frames.join(''))
      } catch (error) {
        forget()
        throw error
      }
    },
    async close() {
      connection?.end()
      connection = undefined
    },
  }
}

const WRITE_MS = 10_000

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

const toHost = ({ hostname: host }: URL): string => host.replace(/^\[|\]$/g, '')
