import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CredentialSource } from '../../src/auth/handler.ts'
import { createJwtHandler, type JwtDeps } from '../../src/auth/jwt.ts'
import { readJwtKeys } from '../../src/keys/jwt-keys.ts'
import { makeToken, signerFor } from '../keys/signing.ts'
import { readVerdict } from './read-verdict.ts'

const SECRET = 'a secret of tokens for tests'
const NOW = 1_800_000_000

type Rules = ReturnType<JwtDeps['rules']>

function createScene(claims: Readonly<Record<string, unknown>>) {
  const scene = {
    nowSeconds: NOW,
    secret: SECRET,
    isLive: true,
    rules: { required: [], roles: { kind: 'claim', name: 'roles' } } as Rules,
  }
  const handler = createJwtHandler({
    keys: () => readJwtKeys([{ key: 'hmac:_default', text: Buffer.from(scene.secret).toString('base64') }]),
    rules: () => scene.rules,
    directory: { isForeignTokenKnownLive: () => scene.isLive, isForeignTokenLive: async () => scene.isLive },
    findIssued: async () => undefined,
    clock: { nowMs: () => scene.nowSeconds * 1000 },
  })
  const token = makeToken({ alg: 'HS256' }, { sub: 'jan', ...claims }, signerFor('HS256', SECRET))
  const source = { header: () => `Bearer ${token}` } as unknown as CredentialSource
  return { scene, read: () => readVerdict(handler, source) }
}

type Scene = ReturnType<typeof createScene>['scene']

/** Each change makes the token invalid. */
const CHANGES: readonly [name: string, change: (scene: Scene) => void][] = [
  ['the token has expired', (scene) => (scene.nowSeconds = NOW + 60)],
  ['the clock was set back before the token is valid', (scene) => (scene.nowSeconds = NOW - 60)],
  ['another claim is required', (scene) => (scene.rules = { ...scene.rules, required: [{ name: 'aud' }] })],
  ['the key was replaced', (scene) => (scene.secret = 'another secret of tokens')],
  ['everything issued for the user was revoked', (scene) => (scene.isLive = false)],
]

describe('a token that was accepted before', () => {
  it('is accepted again, with the same identity', async () => {
    const { read } = createScene({ roles: ['reader'] })
    const [first, second] = [await read(), await read()]
    assert.equal(first.kind, 'accepted')
    assert.deepEqual(second, first)
  })

  for (const [name, change] of CHANGES)
    it(`is rejected when ${name}`, async () => {
      const { scene, read } = createScene({ nbf: NOW - 10, exp: NOW + 30 })
      assert.equal((await read()).kind, 'accepted')
      change(scene)
      assert.equal((await read()).kind, 'refused')
    })

  it('has the roles of the claim that is configured now', async () => {
    const { scene, read } = createScene({ roles: ['reader'], groups: ['writer'] })
    await read()
    scene.rules = { ...scene.rules, roles: { kind: 'claim', name: 'groups' } }
    const verdict = await read()
    assert.deepEqual(verdict.kind === 'accepted' && verdict.identity.roles, ['writer'])
  })
})
