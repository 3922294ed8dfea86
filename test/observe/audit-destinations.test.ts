import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { auditDestinations } from '../../src/config/addresses.ts'
import { SECURITY_EVENTS } from '../../src/modules.ts'
import { type AuditRecord, CHAIN_START, sealAll, toShownRecord } from '../../src/observe/audit/audit-record.ts'
import type { DeliveryPace } from '../../src/observe/audit/delivery.ts'
import {
  Copy,
  createDestination,
  DESTINATION_KINDS,
  type Destination,
  toDestinationNames,
} from '../../src/observe/audit/destinations.ts'
import { TcpSyslog } from '../../src/observe/audit/tcp-syslog.ts'
import type { EventRow } from '../../src/observe/security-event-table.ts'
import { reportTo } from '../support/audit-reports.ts'
import { makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const KEY = Buffer.from('a-key-of-the-webhook')
const levelOf = (event: string) => new Map<string, EventRow>(Object.entries(SECURITY_EVENTS)).get(event)?.level

const SETTINGS = { 'file-size': 1_000_000, 'file-count': 3, webhookKey: KEY, levelOf }

const RECORDS = sealAll(
  ['jö', 'mo', 'li'].map((subject) => ({
    time: Date.UTC(2026, 0, 31, 12),
    event: 'sign-in.refused',
    outcome: 'failure' as const,
    node: 'n@host',
    fields: { subject, reason: 'wrong password', peer: '192.0.2.1' },
  })),
  CHAIN_START,
)
const [FIRST = RECORDS[0] as AuditRecord] = RECORDS

interface Opened {
  readonly queue: Copy
  readonly reported: string[]
}

function open(t: TestContext, text: string, pace?: Partial<DeliveryPace>): Opened {
  return openQueue(t, createDestination(text, SETTINGS), pace)
}

function openQueue(t: TestContext, destination: Destination, pace: Partial<DeliveryPace> = {}): Opened {
  const reported: string[] = []
  const queue = new Copy('copy', destination, reportTo(reported), { firstRetryMs: 5, ...pace })
  t.after(() => queue.close())
  return { queue, reported }
}

const addAll = ({ queue }: Opened, records: readonly AuditRecord[] = RECORDS) => {
  for (const record of records) queue.add(record)
}

const readLines = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('a file as destination of audit records', () => {
  it('gets one JSON object per line, and only its owner and group can read it', async (t) => {
    const path = join(makeFolder(t), 'audit.log')
    const opened = open(t, `file:${path}`)
    addAll(opened)
    await opened.queue.close()
    assert.deepEqual(readLines(path), RECORDS.map(toShownRecord))
    assert.equal(statSync(path).mode & 0o027, 0)
  })

  it('is rotated by size, and a bounded number is kept', async (t) => {
    const folder = makeFolder(t)
    const destination = createDestination(`file:${join(folder, 'audit.log')}`, {
      ...SETTINGS,
      'file-size': 1000,
      'file-count': 2,
    })
    for (let turn = 0; turn < 20; turn += 1) await destination.write([FIRST])
    await destination.close?.()
    assert.deepEqual(readdirSync(folder).sort(), ['audit.log', 'audit.log.1', 'audit.log.2'])
    for (const name of readdirSync(folder)) assert.ok(statSync(join(folder, name)).size <= 1000, name)
  })

  it('is opened again after another program renamed it', async (t) => {
    const path = join(makeFolder(t), 'audit.log')
    const destination = createDestination(`file:${path}`, SETTINGS)
    await destination.write([FIRST])
    renameSync(path, `${path}.old`)
    await destination.write([FIRST])
    destination.reopen?.()
    await destination.write([FIRST])
    await destination.close?.()
    assert.equal(readLines(`${path}.old`).length, 2)
    assert.equal(readLines(path).length, 1)
  })
})

const SYSLOG = /^<(\d+)>1 (\S+) \S+ cardea \d+ sign-in\.refused - (\{.*\})$/

function assertSyslog(message: string, record: AuditRecord): void {
  const [, priority, time, json = ''] = SYSLOG.exec(message) ?? []
  assert.equal(priority, String(13 * 8 + 4), message)
  assert.equal(time, '2026-01-31T12:00:00.000Z')
  assert.match(json, /^[\x20-\x7e]+$/)
  assert.deepEqual(JSON.parse(json), toShownRecord(record))
}

describe('syslog as destination of audit records', () => {
  it('gets counted frames over TCP', async (t) => {
    const receiver = await startReceiver(t)
    addAll(openTcp(t, receiver))
    await waitUntil(() => receiver.frames().length === RECORDS.length)
    for (const [at, record] of RECORDS.entries()) assertSyslog(receiver.frames()[at] ?? '', record)
  })

  it('gets records again that were sent over TCP before the connection was reset', async (t) => {
    const receiver = await startReceiver(t)
    const opened = openTcp(t, receiver)
    opened.queue.add(FIRST)
    await waitUntil(() => receiver.frames().length === 1)
    receiver.sockets[0]?.resetAndDestroy()
    await waitUntil(() => opened.reported.length === 2)
    assert.deepEqual(opened.reported, ['failed: read ECONNRESET', 'recovered'])
    assert.equal(receiver.sockets.length, 2)
    for (const frame of receiver.frames()) assertSyslog(frame, FIRST)
    assert.equal(receiver.frames().length, 2)
    assert.deepEqual(opened.queue.figures(), { waiting: 0, lost: 0, problem: undefined })
  })

  it('is failing, and keeps the records, as long as it resets every connection over TCP', async (t) => {
    const receiver = await startReceiver(t)
    receiver.resets = true
    const opened = openTcp(t, receiver)
    addAll(opened)
    await waitUntil(() => receiver.sockets.length > 3)
    assert.equal(opened.queue.figures().waiting, RECORDS.length)
    assert.equal(opened.reported.length, 1, String(opened.reported))
    receiver.resets = false
    await waitUntil(() => opened.reported.length === 2)
    assert.equal(opened.reported[1], 'recovered')
    for (const [at, record] of RECORDS.entries()) assertSyslog(receiver.frames().slice(-3)[at] ?? '', record)
  })

  it('may end an idle connection over TCP', async (t) => {
    const receiver = await startReceiver(t)
    const opened = openTcp(t, receiver, 0)
    for (const [at, record] of RECORDS.entries()) {
      opened.queue.add(record)
      await waitUntil(() => receiver.frames().length === at + 1)
      const socket = receiver.sockets[at]
      socket?.end()
      await waitUntil(() => socket?.destroyed === true)
    }
    assert.deepEqual(opened.reported, [])
  })
})

interface Receiver {
  readonly url: URL
  readonly sockets: Socket[]
  /** Resets every connection with its first data. */
  resets: boolean
  frames(): readonly string[]
}

async function startReceiver(t: TestContext): Promise<Receiver> {
  const sockets: Socket[] = []
  let text = ''
  const server = createTcpServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      if (receiver.resets) socket.resetAndDestroy()
      else text += chunk
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  const url = new URL(`syslog+tcp://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const receiver: Receiver = { url, sockets, resets: false, frames: () => readFrames(text) }
  return receiver
}

/** Longer than this process gets no time on a busy machine: a reset within it must not be seen after it. */
const SETTLE_MS = 2000

const openTcp = (t: TestContext, { url }: Receiver, settleMs = SETTLE_MS): Opened =>
  openQueue(t, new TcpSyslog(url, levelOf, settleMs))

function readFrames(text: string): readonly string[] {
  const frames: string[] = []
  for (let rest = text; ; ) {
    const [head, length] = /^(\d+) /.exec(rest) ?? []
    if (head === undefined || rest.length < head.length + Number(length)) return frames
    frames.push(rest.slice(head.length, head.length + Number(length)))
    rest = rest.slice(head.length + Number(length))
  }
}

interface Hook {
  readonly url: string
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[]
  /** Called with each request; responds with 204 unless given. */
  respond: (response: ServerResponse) => void
}

async function startHook(t: TestContext): Promise<Hook> {
  const requests: Hook['requests'] = []
  const hook = { url: '', requests, respond: (response: ServerResponse) => void response.writeHead(204).end() }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ headers: request.headers, body })
    hook.respond(response)
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=secret-of-the-url`
  return hook
}

describe('a webhook as destination of audit records', () => {
  it('gets signed requests', async (t) => {
    const hook = await startHook(t)
    const opened = open(t, hook.url)
    addAll(opened)
    await opened.queue.close()
    const received = hook.requests.flatMap(({ body }) => JSON.parse(body).records)
    assert.deepEqual(received, RECORDS.map(toShownRecord))
    for (const { headers, body } of hook.requests) {
      const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-cardea-signature'])) ?? []
      assert.equal(signature, createHmac('sha256', KEY).update(`${seconds}.${body}`).digest('hex'))
      assert.ok(Math.abs(Date.now() / 1000 - Number(seconds)) < 60)
      assert.equal(headers['content-type'], 'application/json')
    }
  })

  it('gets records again until it accepts them, and follows no redirect', async (t) => {
    const hook = await startHook(t)
    const refusals = [503, 302]
    const accepted = Promise.withResolvers<void>()
    hook.respond = (response) => {
      const status = refusals.shift() ?? 204
      response.writeHead(status, { Location: '/elsewhere' }).end(() => status === 204 && accepted.resolve())
    }
    const opened = open(t, hook.url)
    opened.queue.add(FIRST)
    await accepted.promise
    await opened.queue.close()
    assert.equal(hook.requests.length, 3)
    assert.equal(new Set(hook.requests.map(({ body }) => body)).size, 1)
    assert.deepEqual(opened.reported, ['failed: the webhook responded with 503', 'recovered'])
  })

  it('that does not respond costs a bounded number of records, which are counted', async (t) => {
    const hook = await startHook(t)
    const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>()
    hook.respond = resolve
    const opened = open(t, hook.url, { maxWaiting: 2 })
    addAll(opened, [...RECORDS, ...RECORDS])
    assert.deepEqual(opened.queue.figures(), { waiting: 2, lost: 4, problem: undefined })
    const pending = await asked
    hook.respond = (response) => void response.writeHead(204).end()
    pending.writeHead(204).end()
    await opened.queue.close()
    assert.deepEqual(opened.reported, ['lost 4'])
  })

  it('has a name without its path and query, and a number if another one has the same name', () => {
    const texts = ['https://host:1/hook/x?token=x', 'file:/a?b', 'https://host:1/other', 'https://host/hook']
    assert.deepEqual(toDestinationNames(texts), ['https://host:1', 'file:/a?b', 'https://host:1 (2)', 'https://host'])
  })
})

describe('audit.destinations', () => {
  const VALID = {
    stdout: 'stdout',
    file: 'file:/var/log/audit.log',
    'syslog+tcp': 'syslog+tcp://[::1]:601',
    http: 'http://127.0.0.1/hook',
    https: 'https://host/hook?token=x',
  }
  it('accepts every kind of destination, several at once', () => {
    assert.deepEqual(Object.keys(VALID).sort(), Object.keys(DESTINATION_KINDS).sort())
    const text = Object.values(VALID).join(', ')
    assert.deepEqual(auditDestinations.parse(text), Object.values(VALID))
    assert.equal(auditDestinations.resolve?.('file:a.log, stdout', '/etc'), 'file:/etc/a.log, stdout')
  })
  for (const text of [
    'ftp://host',
    'file:',
    'syslog+tcp:',
    'syslog+udp://10.0.0.1:514',
    'https://user:password@host/',
    'syslog+tcp://h/path',
    'stderr',
  ])
    it(`rejects ${text}`, () => assert.throws(() => auditDestinations.parse(text), RangeError))
})

const FULL = '/dev/full'

describe('a destination on standard output', () => {
  it('that is a full disk fails, and does not end the program', { skip: !existsSync(FULL) && `no ${FULL}` }, (t) => {
    const full = openSync(FULL, 'w')
    t.after(() => closeSync(full))
    const script = `
      import { createDestination } from ${JSON.stringify(import.meta.resolve('../../src/observe/audit/destinations.ts'))}
      const destination = createDestination('stdout', {})
      await destination.write([${JSON.stringify(FIRST)}]).catch((error) => console.error(error.code))
      setImmediate(() => console.error('runs'))`
    const args = ['--input-type=module', '--eval', script]
    const { stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', full, 'pipe'] })
    assert.deepEqual([stderr, status], ['ENOSPC\nruns\n', 0])
  })
})
