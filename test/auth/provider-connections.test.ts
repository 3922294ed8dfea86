import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createRunningLimit } from '../../src/auth/provider-connections.ts'
import { isRefused } from '../support/directory.ts'

it('at most 64 responses of a provider are checked with it at the same time', async () => {
  const limit = createRunningLimit()
  const { promise: held, resolve } = Promise.withResolvers<string>()
  const failing = limit('one', () => Promise.reject(new Error('no')))
  await assert.rejects(failing)
  const running = Array.from({ length: 64 }, () => limit('one', () => held))
  await assert.rejects(
    limit('one', async () => 'never'),
    isRefused('provider_unavailable'),
  )
  assert.equal(await limit('two', async () => 'another provider'), 'another provider')
  resolve('done')
  await Promise.all(running)
  assert.equal(await limit('one', async () => 'again'), 'again')
})
