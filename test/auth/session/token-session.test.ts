import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readCookie } from '../../../src/auth/session/cookie-value.ts'
import { mintTokenCookie, type TokenSession, verifyTokenCookie } from '../../../src/auth/session/token-session.ts'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { START_SECONDS } from '../../support/directory.ts'
import { openSessions } from '../sessions.ts'

const ORIGIN = { issuedAt: undefined, expiresAt: undefined, algorithm: 'HS256', kid: undefined, version: 'v1' }
const BEARER = { name: 'jo', roles: ['a', '_admin'], origin: ORIGIN }
const until = (seconds: number) => ({ ...BEARER, origin: { ...ORIGIN, expiresAt: START_SECONDS + seconds } })

test('has the name and roles of the token, including _admin', async (t) => {
  const { tokens, findAccepted } = await openSessions(t)
  const accepted = await findAccepted(tokens.open(BEARER).value)
  assert.deepEqual(
    [accepted?.identity.name, accepted?.identity.roles, accepted?.identity.isAdmin],
    ['jo', ['a', '_admin'], true],
  )
})

test('is renewed, and expires with the token', async (t) => {
  const { clock, tokens, findAccepted } = await openSessions(t)
  const opened = tokens.open(until(1000))
  assert.equal(opened.maxAgeSeconds, 600)
  clock.advance(500)
  const renewed = (await findAccepted(opened.value))?.credential.session?.cookie?.renew() ?? assert.fail('not renewed')
  assert.equal(renewed.maxAgeSeconds, 500)
  clock.advance(499)
  assert.ok(await findAccepted(renewed.value))
  clock.advance(1)
  assert.equal(await findAccepted(renewed.value), undefined)
})

test('expires after one timeout if the token has no exp', async (t) => {
  const { clock, tokens, findAccepted } = await openSessions(t)
  const { value } = tokens.open(BEARER)
  clock.advance(599)
  assert.ok(await findAccepted(value))
  clock.advance(1)
  assert.equal(await findAccepted(value), undefined)
})

test('ends after the longest lifetime, however often it is renewed', async (t) => {
  const { clock, tokens, findAccepted } = await openSessions(t, { maxLifetimeSeconds: 700 })
  let { value } = tokens.open(BEARER)
  clock.advance(500)
  const renewed = (await findAccepted(value))?.credential.session?.cookie?.renew() ?? assert.fail('not renewed')
  assert.equal(renewed.maxAgeSeconds, 200)
  value = renewed.value
  clock.advance(199)
  assert.ok(await findAccepted(value))
  clock.advance(1)
  assert.equal(await findAccepted(value), undefined)
})

test('stays revoked in every cookie, whatever the timeout becomes', async (t) => {
  const { clock, directory, tokens, findAccepted, set } = await openSessions(t)
  const { value } = tokens.open(BEARER)
  clock.advance(100)
  const session = (await findAccepted(value))?.credential.session ?? assert.fail('not accepted')
  const copy = session.cookie?.renew()?.value ?? ''
  await directory.endSession({ id: session.id, name: session.name, expiresAt: session.cookie?.lastExpiry() ?? 0 })
  set({ timeoutSeconds: 1_000_000 })
  for (const seconds of [0, 1000, 10_000]) {
    clock.advance(seconds)
    for (const cookie of [value, copy]) assert.equal(await findAccepted(cookie), undefined)
  }
})

test('is revoked when the key that verified the token is replaced', async (t) => {
  const { keys, tokens, findAccepted } = await openSessions(t)
  const { value } = tokens.open(BEARER)
  keys.set('HS256/', 'v2')
  assert.equal(await findAccepted(value), undefined)
  keys.set('HS256/', 'v1')
  assert.ok(await findAccepted(value))
  keys.delete('HS256/')
  assert.equal(await findAccepted(value), undefined)
})

test('is revoked with the sessions of a user of that name, unless the token is newer', async (t) => {
  const { clock, directory, tokens, findAccepted } = await openSessions(t)
  await directory.createUser({ name: 'jo', password: { password: 'pw' } }, PROGRAM)
  clock.advance(10)
  const { value } = tokens.open({ ...BEARER, origin: { ...ORIGIN, issuedAt: START_SECONDS + 5 } })
  const { value: unknown } = tokens.open(BEARER)
  assert.ok(await findAccepted(value))
  await directory.signOut('jo', PROGRAM)
  assert.equal(await findAccepted(value), undefined)
  assert.equal(await findAccepted(unknown), undefined, 'a token without iat may be older')
  // the clock of the issuer may be a minute ahead
  clock.advance(61)
  const { value: early } = tokens.open({ ...BEARER, origin: { ...ORIGIN, issuedAt: START_SECONDS + 70 } })
  assert.equal(await findAccepted(early), undefined)
  const { value: younger } = tokens.open({ ...BEARER, origin: { ...ORIGIN, issuedAt: START_SECONDS + 71 } })
  assert.ok(await findAccepted(younger))
})

const KEY = { secret: Buffer.from('secret'), algorithm: 'sha256' }
const RULES = { secrets: [KEY.secret], algorithms: ['sha512', 'sha256', 'sha1'] }

const PLAIN = { noNullPrototype: true } as const

const anySession: fc.Arbitrary<TokenSession> = fc.record(
  {
    id: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
    name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((name) => !name.includes(':')),
    roles: fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 5 }),
    issuedAt: fc.nat(),
    timeoutSeconds: fc.nat(),
    openedAt: fc.option(fc.nat(), { nil: undefined }),
    origin: fc.record(
      {
        issuedAt: fc.option(fc.nat(), { nil: undefined }),
        expiresAt: fc.option(fc.nat(), { nil: undefined }),
        algorithm: fc.constantFrom('HS256', 'EdDSA'),
        kid: fc.option(fc.string({ maxLength: 20 }), { nil: undefined }),
        version: fc.stringMatching(/^[0-9a-f]{0,64}$/),
      },
      PLAIN,
    ),
  },
  PLAIN,
)

test('is read back as written, and no byte can be changed', () => {
  fc.assert(
    fc.property(anySession, fc.nat(), fc.integer({ min: 1, max: 255 }), (session, at, by) => {
      const value = mintTokenCookie(session, KEY)
      const cookie = readCookie(value)
      if (!cookie) return value.length > 4096
      assert.deepEqual(verifyTokenCookie(cookie, RULES), session)
      const bytes = Buffer.from(value, 'base64url')
      bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ by
      const forged = readCookie(bytes.toString('base64url'))
      return forged === undefined || verifyTokenCookie(forged, RULES) === undefined
    }),
    { numRuns: 300 },
  )
})

test('does not verify with another secret or an algorithm that is not listed', () => {
  const about = { name: 'jo', roles: [], issuedAt: 1, timeoutSeconds: 1, origin: ORIGIN, openedAt: 1 }
  const session = { id: Buffer.alloc(16), ...about }
  const cookie = readCookie(mintTokenCookie(session, KEY)) ?? assert.fail()
  assert.equal(verifyTokenCookie(cookie, { ...RULES, secrets: [Buffer.from('other')] }), undefined)
  assert.equal(verifyTokenCookie(cookie, { ...RULES, algorithms: ['sha512'] }), undefined)
  assert.equal(verifyTokenCookie(cookie, { ...RULES, secrets: [] }), undefined)
})
