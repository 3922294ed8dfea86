import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { sendRaw } from '../../support/raw.ts'
import { createSessionServer, mintJwt, nowSeconds } from './session-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const server = createSessionServer({
  jwt_keys: { 'hmac:_default': Buffer.from(SECRET).toString('base64') },
  chttpd_auth: { proxy_use_secret: false },
  chttpd_auth_lockout: { mode: 'off' },
})

let port = 0
let cookie = ''
before(async () => {
  port = Number(new URL((await server.started).url).port)
  await server.add('ada')
  cookie = await server.begin('ada')
})

const TEXT = fc.oneof(
  fc.string({ unit: ANY_CHARACTER, maxLength: 60 }),
  fc.string({ maxLength: 60 }),
  fc.constantFrom('', 'ada', '%', '%zz', '..', '//', '\\', '__proto__', 'constructor', '\ud800', '\u0000', '𝒜'),
)
const toHeaderText = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[\r\n\0]/g, '?')

const token = fc
  .tuple(fc.jsonValue(), fc.jsonValue(), fc.boolean())
  .map(([claims, alg, isPlain]) =>
    mintJwt(isPlain ? claims : { sub: 'jo', exp: nowSeconds() + 60, x: claims }, SECRET, isPlain ? {} : { kid: alg }),
  )

const mutated = (text: () => string) =>
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, by]) => {
    const bytes = Buffer.from(text(), 'latin1')
    if (bytes.length > 0) bytes[at % bytes.length] = by
    return bytes.toString('latin1').replace(/[\r\n\0]/g, '?')
  })

const header = fc.oneof(
  TEXT.map((value) => `Authorization: ${toHeaderText(value)}`),
  token.map((value) => `Authorization: Bearer ${value}`),
  TEXT.map((value) => `Authorization: Basic ${Buffer.from(value).toString('base64')}`),
  mutated(() => mintJwt({ sub: 'jo', exp: nowSeconds() + 60 }, SECRET)).map(
    (value) => `Authorization: Bearer ${value}`,
  ),
  mutated(() => cookie).map((value) => `Cookie: AuthSession=${value}`),
  TEXT.map((value) => `Cookie: AuthSession=${Buffer.from(value).toString('base64url')}`),
  TEXT.map((value) => `Cookie: ${toHeaderText(value)}`),
  TEXT.map((value) => `X-Auth-CouchDB-UserName: ${toHeaderText(value)}`),
  TEXT.map((value) => `X-Auth-CouchDB-Roles: ${toHeaderText(value)}`),
  TEXT.map((value) => `X-CouchDB-WWW-Authenticate: ${toHeaderText(value)}`),
  TEXT.map((value) => `Accept: ${toHeaderText(value)}`),
  fc.constantFrom('Content-Encoding: gzip', 'Content-Encoding: x', 'X-Forwarded-Proto: https', 'Origin: null'),
)

const body = fc.oneof(
  TEXT.map((value) => Buffer.from(value)),
  fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
  fc
    .dictionary(fc.constantFrom('name', 'username', 'password', 'token', '__proto__'), TEXT)
    .map((value) => Buffer.from(JSON.stringify(value))),
  fc.array(fc.tuple(TEXT, TEXT)).map((pairs) => Buffer.from(pairs.map(([a, b]) => `${a}=${b}`).join('&'))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
)

const request = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'POST', 'POST', 'DELETE', 'PUT', 'OPTIONS'),
  query: fc.oneof(
    fc.constant(''),
    fc
      .tuple(fc.constantFrom('next', 'fail', 'basic', 'x'), TEXT)
      .map(([name, value]) => `?${name}=${encodeURIComponent(value.toWellFormed())}`),
  ),
  type: fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain'),
  headers: fc.uniqueArray(header, { maxLength: 4, selector: (line) => line.slice(0, line.indexOf(':')).toLowerCase() }),
  body,
})

test('every request to /_session gets a complete response that is not a 500', async () => {
  await fc.assert(
    fc.asyncProperty(request, async ({ method, query, type, headers, body }) => {
      const lines = [
        `${method} /_session${query} HTTP/1.1`,
        'Host: localhost',
        'Connection: close',
        `Content-Type: ${type}`,
      ]
      const head = [...lines, ...headers, `Content-Length: ${body.length}`, '', ''].join('\r\n')
      const { status, text, isClosed } = await sendRaw(port, [head, body], { untilClosed: true })
      assert.ok(status >= 200 && status < 500, `${head}\n${text}`)
      assert.ok(isClosed, 'the connection hangs')
    }),
    { numRuns: 600 },
  )
})
