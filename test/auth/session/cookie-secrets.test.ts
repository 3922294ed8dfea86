import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCookieSecrets } from '../../../src/auth/session/cookie-secrets.ts'

function start(secret: string, timeout = 600) {
  const at = { seconds: 1000, timeout }
  const secrets = createCookieSecrets({
    secret,
    timeoutSeconds: () => at.timeout,
    clock: { nowMs: () => at.seconds * 1000 },
  })
  return { at, secrets, living: () => secrets.living().map(String), current: () => secrets.current()?.toString() }
}

describe('secrets of cookies', () => {
  it('has one secret to begin with', () => {
    const { living, current } = start('a')
    assert.deepEqual([current(), living()], ['a', ['a']])
  })
  it('has none where none is configured', () => {
    const { living, current } = start('')
    assert.deepEqual([current(), living()], [undefined, []])
  })
  it('signs with a new secret at once, and verifies with the old one for a timeout', () => {
    const { at, secrets, living, current } = start('a')
    secrets.replace('b')
    assert.deepEqual([current(), living()], ['b', ['b', 'a']])
    at.seconds = 1599
    assert.deepEqual(living(), ['b', 'a'])
    at.seconds = 1600
    assert.deepEqual(living(), ['b'])
  })
  it('lets each old secret live its own timeout', () => {
    const { at, secrets, living } = start('a')
    secrets.replace('b')
    at.seconds = 1300
    secrets.replace('c')
    assert.deepEqual(living(), ['c', 'b', 'a'])
    at.seconds = 1600
    assert.deepEqual(living(), ['c', 'b'])
    at.seconds = 1900
    assert.deepEqual(living(), ['c'])
  })
  it('verifies with an old secret for an hour at most, whatever the timeout', () => {
    const { at, secrets, living } = start('a', 30 * 86_400)
    secrets.replace('b')
    at.seconds = 1000 + 3599
    assert.deepEqual(living(), ['b', 'a'])
    at.seconds = 1000 + 3600
    assert.deepEqual(living(), ['b'])
  })
  it('drops every earlier secret at once where that is asked for, also for the secret it has already', () => {
    const { secrets, living, current } = start('a')
    secrets.replace('b')
    secrets.replace('c', { dropsEarlier: true })
    assert.deepEqual([current(), living()], ['c', ['c']])
    secrets.replace('d')
    const signing = secrets.current()
    secrets.replace('d', { dropsEarlier: true })
    assert.deepEqual(living(), ['d'])
    assert.equal(secrets.current(), signing, 'sessions known by it stay known')
  })
  it('takes a secret that comes back as the current one only', () => {
    const { at, secrets, living } = start('a')
    secrets.replace('b')
    secrets.replace('a')
    assert.deepEqual(living(), ['a', 'b'])
    at.seconds = 9999
    assert.deepEqual(living(), ['a'])
  })
  it('changes nothing when the same is set again', () => {
    const { at, secrets, living } = start('a')
    secrets.replace('b')
    at.seconds = 1500
    secrets.replace('b')
    at.seconds = 1600
    assert.deepEqual(living(), ['b'])
  })
  it('verifies with the old secret for a while when it is taken away', () => {
    const { at, secrets, living, current } = start('a', 10)
    secrets.replace('')
    assert.deepEqual([current(), living()], [undefined, ['a']])
    at.seconds = 1010
    assert.deepEqual(living(), [])
  })
})
