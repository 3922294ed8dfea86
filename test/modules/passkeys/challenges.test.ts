import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CHALLENGE_SECONDS, createChallenges } from '../../../src/modules/passkeys/challenges.ts'
import { toRpId } from '../../../src/modules/passkeys/options.ts'
import { listOrigins } from '../../../src/modules/passkeys/settings.ts'
import { createTestClock, openTestNode, toShared } from '../../support/directory.ts'
import { createSharedScope } from '../../support/scope.ts'

const { directory } = await openTestNode(createSharedScope())
const clock = createTestClock()
const keyed = (fill: number) =>
  createChallenges({ directory, clock: toShared(clock), ownKey: () => new Uint8Array(32).fill(fill) })
const challenges = keyed(1)

describe('a challenge', () => {
  it('is accepted for its use only, and by this server only', () => {
    const signIn = challenges.create(['sign-in'])
    const add = challenges.create(['add', 'ada', 'session'])
    assert.equal(challenges.check(signIn, ['sign-in']), undefined)
    assert.equal(challenges.check(add, ['add', 'ada', 'session']), undefined)
    for (const problem of [
      challenges.check(signIn, ['add', 'ada', 'session']),
      challenges.check(add, ['sign-in']),
      challenges.check(add, ['add', 'eve', 'session']),
      challenges.check(add, ['add', 'ada', 'other']),
      challenges.check(add, ['add', 'adas', 'ession']),
      keyed(2).check(signIn, ['sign-in']),
      challenges.check(`${signIn}AA`, ['sign-in']),
      challenges.check('', ['sign-in']),
    ])
      assert.match(problem ?? '', /not made here/)
  })

  it('expires', () => {
    const challenge = challenges.create(['sign-in'])
    clock.advance(CHALLENGE_SECONDS)
    assert.equal(challenges.check(challenge, ['sign-in']), undefined)
    clock.advance(1)
    assert.match(challenges.check(challenge, ['sign-in']) ?? '', /expired/)
  })

  it('is spent once', async () => {
    const challenge = challenges.create(['sign-in'])
    const spent = await Promise.all([1, 2, 3].map(() => challenges.spend(challenge)))
    assert.deepEqual(spent.filter(Boolean).length, 1)
    assert.match(challenges.check(challenge, ['sign-in']) ?? '', /used already/)
  })

  it('is one of ten thousand that are open, of which nothing is kept', () => {
    const open = Array.from({ length: 10_000 }, () => challenges.create(['sign-in']))
    assert.equal(new Set(open).size, open.length)
    // another process with the same key knows them as well as the one that made them
    const other = keyed(1)
    for (const challenge of open) assert.equal(other.check(challenge, ['sign-in']), undefined)
  })
})

describe('the pages that may use passkeys', () => {
  const toSettings = (url: string, rpId = '', origins: readonly string[] = []) => ({
    console: { 'public-url': url },
    passkeys: { 'rp-id': rpId, origins },
  })
  const client = { scheme: 'http', localPort: 5984, isTrusted: false } as const

  it('are those of the listener at localhost without an address', () => {
    assert.equal(toRpId(toSettings('')), 'localhost')
    assert.deepEqual(listOrigins(toSettings(''), client), ['http://localhost:5984'])
    assert.deepEqual(listOrigins(toSettings(''), { ...client, localPort: undefined }), [])
  })

  it('are those of the address, of the listener at its host and at that of passkeys, and of the applications that are named', () => {
    const settings = toSettings('https://db.example.com/', 'example.com', ['https://app.example.com'])
    assert.equal(toRpId(settings), 'example.com')
    assert.deepEqual(listOrigins(settings, { ...client, scheme: 'https', localPort: 6984 }), [
      'https://db.example.com',
      'https://example.com:6984',
      'https://db.example.com:6984',
      'https://app.example.com',
    ])
    assert.equal(toRpId(toSettings('https://db.example.com:8443/path')), 'db.example.com')
  })

  it('behind a proxy are not those of the listener: its port may belong to another program there', () => {
    const proxied = { scheme: 'https', localPort: 5984, isTrusted: true } as const
    assert.deepEqual(listOrigins(toSettings('https://db.example.com'), proxied), ['https://db.example.com'])
    assert.deepEqual(listOrigins(toSettings(''), { ...proxied, scheme: 'http' }), ['http://localhost:5984'])
  })
})
