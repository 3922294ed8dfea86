import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCookieSecrets } from '../../../src/auth/session/secrets.ts'

function start(secret: string, timeout = 600) {
  const at = { seconds: 1000, timeout }
  const secrets = createCookieSecrets({
    secret,
    timeoutSeconds: () => at.timeout,
    clock: { nowMs: () => at.seconds * 1000 },
  })
  return { at, secrets, accepted: () => secrets.accepted().map(String), current: () => secrets.current()?.toString() }
}

describe('cookie secrets', () => {
  it('has one secret to begin with', () => {
    const { accepted, current } = start('a')
    assert.deepEqual([current(), accepted()], ['a', ['a']])
  })
  it('has no secret if none is configured', () => {
    const { accepted, current } = start('')
    assert.deepEqual([current(), accepted()], [undefined, []])
  })
  it('signs with a new secret at once, and verifies with the old one for a timeout', () => {
    const { at, secrets, accepted, current } = start('a')
    secrets.replace('b')
    assert.deepEqual([current(), accepted()], ['b', ['b', 'a']])
    at.seconds = 1599
    assert.deepEqual(accepted(), ['b', 'a'])
    at.seconds = 1600
    assert.deepEqual(accepted(), ['b'])
  })
  it('verifies with each old secret for its own timeout', () => {
    const { at, secrets, accepted } = start('a')
    secrets.replace('b')
    at.seconds = 1300
    secrets.replace('c')
    assert.deepEqual(accepted(), ['c', 'b', 'a'])
    at.seconds = 1600
    assert.deepEqual(accepted(), ['c', 'b'])
    at.seconds = 1900
    assert.deepEqual(accepted(), ['c'])
  })
  it('verifies with an old secret for an hour at most, whatever the timeout', () => {
    const { at, secrets, accepted } = start('a', 30 * 86_400)
    secrets.replace('b')
    at.seconds = 1000 + 3599
    assert.deepEqual(accepted(), ['b', 'a'])
    at.seconds = 1000 + 3600
    assert.deepEqual(accepted(), ['b'])
  })
  it('drops every earlier secret at once on request, even if the secret stays the same', () => {
    const { secrets, accepted, current } = start('a')
    secrets.replace('b')
    secrets.replace('c', { dropsEarlier: true })
    assert.deepEqual([current(), accepted()], ['c', ['c']])
    secrets.replace('d')
    const signing = secrets.current()
    secrets.replace('d', { dropsEarlier: true })
    assert.deepEqual(accepted(), ['d'])
    assert.equal(secrets.current(), signing, 'sessions known by it stay known')
  })
  it('has a secret that comes back only once', () => {
    const { at, secrets, accepted } = start('a')
    secrets.replace('b')
    secrets.replace('a')
    assert.deepEqual(accepted(), ['a', 'b'])
    at.seconds = 9999
    assert.deepEqual(accepted(), ['a'])
  })
  it('changes nothing when the same is set again', () => {
    const { at, secrets, accepted } = start('a')
    secrets.replace('b')
    at.seconds = 1500
    secrets.replace('b')
    at.seconds = 1600
    assert.deepEqual(accepted(), ['b'])
  })
  it('verifies with a removed secret for a while', () => {
    const { at, secrets, accepted, current } = start('a', 10)
    secrets.replace('')
    assert.deepEqual([current(), accepted()], [undefined, ['a']])
    at.seconds = 1010
    assert.deepEqual(accepted(), [])
  })
})
