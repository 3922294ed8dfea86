/** Messages of RFC 5424, and how they are sent over UDP (RFC 5426). */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { hostname } from 'node:os'
import { type EventRow, SECURITY_EVENTS } from '../../security-event-table.ts'
import { type AuditRecord, toShownRecord } from '../audit-record.ts'
import type { Destination } from './destination.ts'

/** Facility 13: log audit. */
const FACILITY = 13
const SEVERITIES: Readonly<Record<EventRow['level'], number>> = { error: 3, warn: 4, info: 6 }
const NAME = 'cardea'
const DEFAULT_UDP_PORT = 514

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

export const toHost = ({ hostname: host }: URL): string => host.replace(/^\[|\]$/g, '')
