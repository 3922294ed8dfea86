// The largest body the document door passes on: as large as the database takes, unless the option is given.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendRaw } from '../../support/raw.ts'
import { ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend } from '../../support/upstream.ts'

const backend = await openBackend({ after })
const limited = await startServer({ after }, beforeDocument(backend.url), { chttpd: { max_http_request_size: 10 } })
const open = await startServer({ after }, beforeDocument(backend.url))

const HEAD = `POST /db HTTP/1.1\r\nHost: a\r\nAuthorization: ${ADMIN.Authorization}\r\n`
const byLength = (bytes: number) => `${HEAD}Content-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`
const inPieces = (...pieces: readonly number[]) =>
  `${HEAD}Transfer-Encoding: chunked\r\n\r\n${pieces.map((bytes) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`).join('')}0\r\n\r\n`

const ROWS: readonly (readonly [name: string, text: string, status: number])[] = [
  ['as long as it may be', byLength(10), 200],
  ['longer', byLength(11), 413],
  ['longer by what it says alone', `${HEAD}Content-Length: 99999999999\r\n\r\n`, 413],
  ['longer, and asks first', `${HEAD}Content-Length: 11\r\nExpect: 100-continue\r\n\r\n`, 413],
  ['in pieces, as long as it may be', inPieces(5, 5), 200],
  ['in pieces, longer', inPieces(5, 5, 1), 413],
  ['in one piece that is longer', inPieces(11), 413],
]

for (const [name, text, status] of ROWS)
  test(`a body ${name}: ${status}`, async () => {
    const before = backend.seen.length
    const answer = await sendRaw(Number(new URL(limited.document).port), text)
    assert.equal(answer.status, status)
    assert.equal(backend.seen.length - before, status === 200 ? 1 : 0)
    assert.doesNotMatch(answer.text, /100 Continue/)
    if (status === 413) assert.match(answer.body, /too_large/)
  })

test('the limit can be set and unset at run time', async () => {
  const path = '/_node/_local/_config/chttpd/max_http_request_size'
  const ask = () => send(open.document, { method: 'POST', path: '/db', headers: ADMIN, body: 'x'.repeat(11) })
  assert.equal((await ask()).status, 200)
  assert.equal((await send(open.document, { method: 'PUT', path, headers: ADMIN, body: '"10"' })).status, 200)
  assert.equal((await ask()).status, 413)
  assert.equal((await send(open.document, { method: 'DELETE', path, headers: ADMIN })).status, 200)
  assert.equal((await ask()).status, 200)
})

test('small chunks are forwarded for an authenticated client only', async () => {
  const post = (head: string) => {
    const chunks = '4\r\nxxxx\r\n'.repeat(3000)
    return sendRaw(Number(new URL(open.document).port), `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`)
  }
  // the password is known from now on: a body that arrives while it is checked has the limits of an anonymous client
  assert.equal((await send(open.document, { path: '/db', headers: ADMIN })).status, 200)
  assert.equal((await post(HEAD)).status, 200)
  assert.equal(backend.seen.at(-1)?.body.length, 12_000)
  const before = backend.seen.length
  assert.equal((await post('POST /db HTTP/1.1\r\nHost: a\r\n')).status, 400)
  assert.equal(backend.seen.length, before)
})
