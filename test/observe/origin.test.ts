import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beginForOrigin, findOrigin, keepOrigin, runForOrigin } from '../../src/observe/origin.ts'

test('each request of a connection has its own origin, and code outside a request has none', async () => {
  const seen: unknown[] = []
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    await nextTurn()
    seen.push([request.url, findOrigin().request])
    response.end()
  }
  await using server = createServer((request, response) => {
    seen.push(['before', findOrigin()])
    const describe = () => ({ request: request.url ?? '' })
    void runForOrigin(describe, () => respond(request, response))
    // a program that uses Cardea as a library may do its own work here
    seen.push(['after', findOrigin()])
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  server.on('connection', () => seen.push(['connected', findOrigin()]))
  // in one packet, so that both requests arrive in one callback of the socket
  socket.write(['/one', '/two'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  let text = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    text += chunk
    if (text.split('HTTP/1.1 200').length === 3) break
  }
  await nextTurn()
  assert.deepEqual(seen, [
    ['connected', {}],
    ['before', {}],
    ['after', {}],
    ['before', {}],
    ['after', {}],
    ['/one', '/one'],
    ['/two', '/two'],
  ])
  assert.deepEqual(findOrigin(), {})
})

test('a request that has begun is known until it waits, and later where it was kept', async () => {
  const seen: unknown[] = []
  const see = (place: string) => seen.push([place, findOrigin().request])
  const later = async (place: string) => {
    await nextTurn()
    see(place)
  }
  const origin = (request: string) => () => ({ request })
  const work = beginForOrigin(origin('one'), async () => {
    see('at once')
    const kept = keepOrigin(() => later('kept'))
    const other = runForOrigin(origin('two'), () => {
      see('within')
      return later('later within')
    })
    see('after it')
    await Promise.all([kept, other])
    see('not kept')
  })
  see('outside')
  await work
  assert.deepEqual(seen, [
    ['at once', 'one'],
    ['within', 'two'],
    ['after it', 'one'],
    ['outside', undefined],
    ['kept', 'one'],
    ['later within', 'two'],
    ['not kept', undefined],
  ])
})
