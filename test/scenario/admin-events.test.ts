import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { API, createBrowser, NAVIGATION, SCRIPT, tokenOf, withToken } from '../support/browser.ts'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

type Headers = Readonly<Record<string, string>>

interface Event {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: each kind of event has its own shape
  readonly data: any
}

function follow(scope: Scope, url: string, headers: Headers): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}${API}/events`, { headers, agent: false }, resolve).on('error', reject)
    scope.after(() => request.destroy())
  })
}

/** Reads events up to one that fits; `undefined`: the stream ended. */
function createReader(stream: IncomingMessage) {
  const chunks = stream.setEncoding('utf8')[Symbol.asyncIterator]()
  let text = ''
  const readOne = async (): Promise<string | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        return block
      }
      const { value, done } = await chunks.next()
      if (done) return undefined
      text += value
    }
  }
  return async (isWanted: (event: Event) => boolean = () => true): Promise<Event | undefined> => {
    for (;;) {
      const block = await readOne()
      if (block === undefined) return undefined
      const match = /^event: (\w+)\ndata: (.*)$/.exec(block)
      const event = match && { event: match[1] ?? '', data: JSON.parse(match[2] ?? '') }
      if (event && isWanted(event)) return event
    }
  }
}

const AS_PROGRAM = { Authorization: AS_ADMIN }

test('streams counts at once, and audit records as they happen', async (t) => {
  const { document: url } = await startServer(t)
  const stream = await follow(t, url, AS_PROGRAM)
  assert.equal(stream.statusCode, 200)
  assert.equal(stream.headers['content-type'], 'text/event-stream')
  assert.equal(stream.headers['cache-control'], 'no-store')
  const read = createReader(stream)
  assert.deepEqual(await read(), { event: 'counts', data: { lockedAccounts: 0, failingUpstreams: 0 } })

  await send(url, { method: 'POST', path: '/_session', body: { name: 'admin', password: 'wrong' } })
  const refused = await read(({ data }) => data.event === 'sign-in.refused')
  assert.deepEqual([refused?.event, refused?.data.outcome, refused?.data.door], ['audit', 'failure', 'document'])
})

test('ends the stream of a session that is ended, and keeps that of another', async (t) => {
  const { document: url } = await startServer(t)
  const open = async () => {
    const browser = createBrowser(url)
    assert.equal((await browser.signIn('admin', 'adminpw')).status, 200)
    const token = withToken(tokenOf(await browser.openPage(NAVIGATION)))
    const stream = await follow(t, url, { ...SCRIPT, ...token, Cookie: browser.cookie })
    const read = createReader(stream)
    await read()
    return { browser, token, read }
  }
  const [first, second] = [await open(), await open()]
  assert.equal((await first.browser.ask('/session', { method: 'DELETE', headers: first.token })).status, 200)
  assert.equal(await first.read(() => false), undefined)
  await send(url, { method: 'POST', path: '/_session', body: { name: 'nina', password: 'wrong' } })
  assert.ok(await second.read(({ data }) => data.event === 'sign-in.refused'))
})

test('ends the stream of an administrator who is removed', async (t) => {
  const { document: url } = await startServer(t)
  const administrators = { method: 'POST', path: `${API}/administrators`, as: AS_ADMIN }
  await send(url, { ...administrators, body: { name: 'ops', password: 'ops-password' } })
  const read = createReader(await follow(t, url, { Authorization: basic('ops', 'ops-password') }))
  await read()
  await send(url, { method: 'DELETE', path: `${API}/administrators/ops`, as: AS_ADMIN })
  assert.equal(await read(() => false), undefined)
})

test('rejects users, anonymous clients, and more streams than the limit', async (t) => {
  const { document: url } = await startServer(t)
  await send(url, { method: 'POST', path: `${API}/users`, as: AS_ADMIN, body: { name: 'ada', password: 'pw' } })
  assert.equal((await follow(t, url, { Authorization: basic('ada', 'pw') })).statusCode, 403)
  assert.equal((await follow(t, url, {})).statusCode, 401)
  const streams = await Promise.all(Array.from({ length: 50 }, () => follow(t, url, AS_PROGRAM)))
  assert.ok(streams.every(({ statusCode }) => statusCode === 200))
  assert.equal((await follow(t, url, AS_PROGRAM)).statusCode, 503)
})
