// Cookie, upstream, service and token secrets that are equal are refused: at start, on reload, over HTTP.
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createCardea } from '../../../src/index.ts'
import { ADMIN, send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'

const SECRET = 'one-secret-that-wants-to-be-two-of-them'
const OTHER = 'another-secret-that-is-nothing-but-this'
const BASE64 = Buffer.from(SECRET).toString('base64')
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PRIVATE_PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const SEC1_PEM = privateKey.export({ type: 'sec1', format: 'pem' }).toString()
const PUBLIC_PEM = createPublicKey(privateKey)
  .export({ type: 'spki', format: 'pem' })
  .toString()
  .replaceAll('\n', '\\n')

function makeFiles(t: TestContext): string {
  const folder = makeFolder(t)
  const set = { keys: [{ kty: 'oct', kid: 'k', alg: 'HS256', k: Buffer.from(SECRET).toString('base64url') }] }
  const files = { K: SECRET, O: OTHER, 'ec.pem': PRIVATE_PEM, 'sec1.pem': SEC1_PEM, 'set.json': JSON.stringify(set) }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** Cardea on a file, so that what the file says can be changed, over HTTP too. */
async function open(t: TestContext, folder: string, lines: string) {
  const file = join(folder, 'a.ini')
  const write = (text: string) => writeFileSync(file, `[admins]\nadmin = adminpw\n${text}`, { mode: 0o600 })
  write(lines)
  const options = {
    store: { url: 'sqlite::memory:' },
    chttpd: { port: 0 },
    server: { endpoint: 'tcp://127.0.0.1:0' },
    chttpd_auth: { iterations: 1 },
  }
  const cardea = await createCardea({ files: [file], options })
  t.after(() => cardea.close())
  const { document } = await cardea.listen()
  const put = (setting: string, value: string) =>
    send(document[0] ?? '', {
      method: 'PUT',
      path: `/_node/_local/_config/${setting}`,
      headers: ADMIN,
      body: JSON.stringify(value),
    })
  return { cardea, write, put }
}

const UPSTREAM = '[upstream]\nmulti-model-secret-keyfile = K\n'

const AT_START: readonly (readonly [name: string, lines: string])[] = [
  ['the multi-model upstream’s and the document upstream’s', `${UPSTREAM}document-secret = @file:K`],
  ['the multi-model upstream’s and that of cookies', `${UPSTREAM}[chttpd_auth]\nsecret = @file:K`],
  ['the multi-model upstream’s and a key of others', `${UPSTREAM}[jwt_keys]\nhmac:_default = ${BASE64}`],
  ['the multi-model upstream’s and one in a set of keys', `${UPSTREAM}[jwt_keys]\njwks:a = set.json`],
  ['the multi-model upstream’s and that of tokens', `${UPSTREAM}[server]\njwt-secret = ${SECRET}`],
  ['that of tokens and one in a set of keys', '[server]\njwt-secret-keyfile = K\n[jwt_keys]\njwks:a = set.json'],
  ['the services’ and that of tokens', '[upstream]\nservice-keyfile = ec.pem\n[server]\njwt-secret-keyfile = sec1.pem'],
  [
    'the services’ and the multi-model upstream’s',
    '[upstream]\nservice-keyfile = ec.pem\nmulti-model-secret-keyfile = ec.pem',
  ],
  ['the services’ and a key of others', `[upstream]\nservice-keyfile = ec.pem\n[jwt_keys]\nec:a = ${PUBLIC_PEM}`],
]

for (const [name, lines] of AT_START)
  test(`equal secrets are rejected at start: ${name}`, async (t) => {
    await assert.rejects(open(t, makeFiles(t), lines), /must be different/)
  })

test('equal secrets are rejected over HTTP, and the current configuration stays', async (t) => {
  const { cardea, put } = await open(
    t,
    makeFiles(t),
    `${UPSTREAM}[server]\njwt-secret-keyfile = O\n[chttpd_auth]\nsecret = a-secret-of-cookies-and-nothing-else`,
  )
  for (const [setting, value] of [
    ['chttpd_auth/secret', SECRET],
    ['chttpd_auth/secret', OTHER],
    ['couch_httpd_auth/secret', OTHER],
    ['jwt_keys/hmac:x', BASE64],
    ['jwt_keys/hmac:x', Buffer.from(OTHER).toString('base64')],
  ] as const) {
    const { status, body } = await put(setting, value)
    assert.deepEqual([status, /must be different/.test(body)], [400, true], setting)
    assert.doesNotMatch(body, new RegExp(`${SECRET}|${OTHER}|${BASE64}`))
  }
  assert.equal((await put('chttpd_auth/secret', 'a-third-secret-which-is-its-own')).status, 200)
  assert.equal((await cardea.reload()).isApplied, true)
})

test('equal secrets reject a reload, also if both changed at once', async (t) => {
  const folder = makeFiles(t)
  const { cardea, write } = await open(t, folder, `${UPSTREAM}[server]\njwt-secret-keyfile = O`)
  const check = async (why: string) => {
    const { isApplied, problems } = await cardea.reload()
    assert.deepEqual([isApplied, /must be different/.test(problems.join())], [false, true], why)
  }
  write(`${UPSTREAM}[server]\njwt-secret-keyfile = O\n[jwt_keys]\nhmac:a = ${BASE64}`)
  await check('a key of others')
  write(`${UPSTREAM}[server]\njwt-secret-keyfile = O`)
  writeFileSync(join(folder, 'O'), 'a-secret-that-came-to-both-at-once')
  writeFileSync(join(folder, 'K'), 'a-secret-that-came-to-both-at-once')
  await check('both')
})

test('an HMAC key with trailing zeros counts as equal', async (t) => {
  const { put } = await open(t, makeFiles(t), `${UPSTREAM}document-secret = ${OTHER}`)
  for (const secret of [SECRET, OTHER]) {
    const { status, body } = await put('jwt_keys/hmac:z', Buffer.from(`${secret}\0\0`).toString('base64'))
    assert.deepEqual([status, /must be different/.test(body)], [400, true])
  }
})

test('a replaced cookie secret counts as a secret while it still verifies', async (t) => {
  const { cardea, put } = await open(t, makeFiles(t), `[chttpd_auth]\nsecret = ${SECRET}`)
  assert.equal((await put('chttpd_auth/secret', OTHER)).status, 200)
  const { status, body } = await put('jwt_keys/hmac:x', BASE64)
  assert.deepEqual([status, /an earlier cookie secret that is still accepted/.test(body)], [400, true])
  assert.equal((await put('chttpd_auth/secret', SECRET)).status, 200, 'it may come back')
  assert.equal((await cardea.reload()).isApplied, true)
})
