import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProviderSignIn, type ProviderSignInDeps } from '../../../src/modules/providers/sign-in.ts'
import { startProvider } from '../../support/provider.ts'

test('a sign-in begins again soon after the provider is up, also if the clock was ahead meanwhile', async (t) => {
  const { issuer, state } = await startProvider(t)
  const clock = { nowMs: () => 1_800_000_000_000 + aheadMs }
  let aheadMs = 3_600_000
  let passedMs = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + passedMs)
  const place = { name: 'test', issuer, issuers: [issuer], discovery: issuer, jwksUri: '' }
  const provider = {
    name: 'test',
    rules: { clientId: 'web', skewSeconds: 0 },
    client: { place, label: '', secret: '', scopes: ['openid'], logoutTokenType: 'logout+jwt' },
  }
  const deps = {
    providers: new Map([[issuer, provider]]),
    clock,
    publicUrl: () => 'https://db.example',
    ownKey: () => new Uint8Array(32),
    processes: 1,
    // `start` reads nothing else
  } as unknown as ProviderSignInDeps
  const signIn = createProviderSignIn(deps, '/callback')
  const start = () => signIn.start('test', {})
  state.isDown = true
  await assert.rejects(start)
  state.isDown = false
  aheadMs = 0
  await assert.rejects(start)
  passedMs += 5000
  assert.ok((await start()).url.startsWith(`${issuer}/authorize`))
})
