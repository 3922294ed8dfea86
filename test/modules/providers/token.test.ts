import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { refusalText } from '../../../src/base/errors.ts'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { toAccount } from '../../../src/directory/account.ts'
import { createEmptyUser } from '../../../src/directory/users/revisions.ts'
import { readClaimPath } from '../../../src/keys/document-claims.ts'
import { createProviderKeys } from '../../../src/modules/providers/keys.ts'
import { createProviderTokens, type ProviderTokenDeps } from '../../../src/modules/providers/tokens.ts'
import { NO_PASSWORD } from '../../../src/passwords/schemes.ts'
import { AUDIENCE, startProvider } from '../../support/provider.ts'
import type { Scope } from '../../support/scope.ts'

const DAY_MS = 86_400_000
const START_MS = 1_800_000_000_000

const unused = () => assert.fail('not called')
const NO_DIRECTORY: ProviderTokenDeps['directory'] = {
  listLinked: unused,
  createLinked: unused,
  findConfusion: unused,
  findAccount: async () => undefined,
  peekAccount: () => undefined,
  peekTokenAccount: () => undefined,
  isForeignTokenLive: async () => true,
  isForeignTokenKnownLive: () => true,
}

/** Tokens of one provider, at a time that a test sets. */
async function openTokens(scope: Scope, users: 'create' | 'asserted', directory: Partial<typeof NO_DIRECTORY> = {}) {
  const provider = await startProvider(scope)
  const { issuer } = provider
  let nowMs = START_MS
  const clock = { nowMs: () => nowMs }
  const place = { name: 'open', issuer, issuers: [issuer], discovery: issuer, jwksUri: '' }
  const name = readClaimPath('sub')
  const known = {
    name: 'open',
    place,
    client: undefined,
    keys: createProviderKeys(place, DAY_MS, clock, SILENT_LOG),
    algorithms: ['ES256'],
    users,
    keepsNames: false,
    roleMap: [],
    rules: {
      audience: [AUDIENCE],
      clients: [],
      scopes: [],
      clientId: '',
      name,
      roles: undefined,
      factors: [],
      trustsEmail: false,
      skewSeconds: 0,
    },
  }
  const deps = {
    directory: { ...NO_DIRECTORY, ...directory },
    maxLifetimeSeconds: () => 0,
    factorRoles: () => [],
    clock,
  }
  const find = createProviderTokens({ ...deps, providers: new Map([[issuer, known]]) }, 'jwt')
  return {
    provider,
    /** The name that a new token stands for now, or why it is refused. */
    async read(header: object = {}): Promise<string> {
      const now = Math.floor(nowMs / 1000)
      const found = find(provider.signToken({ iat: now, exp: now + 300 }, header), now)
      const verdict = typeof found === 'function' ? await found() : found
      if (verdict?.kind === 'accepted') return verdict.identity.name ?? ''
      return verdict?.kind === 'refused' ? `${verdict.error.code}: ${refusalText(verdict.error)}` : 'absent'
    },
    pass(ms: number): void {
      nowMs += ms
    },
  }
}

describe('tokens of an identity provider', () => {
  it('are refused, and create no user, if several users have the account', async (t) => {
    const { read } = await openTokens(t, 'create', { listLinked: async () => ['ada', 'bob'] })
    assert.match(await read(), /several users have this account/)
  })

  it('assert no name that a user has', async (t) => {
    const account = toAccount(createEmptyUser('open/u-1', NO_PASSWORD))
    let isTaken = false
    const { read } = await openTokens(t, 'asserted', { peekAccount: () => (isTaken ? account : undefined) })
    assert.equal(await read(), 'open/u-1')
    isTaken = true
    assert.match(await read(), /a user has this name/)
  })

  it('are accepted for a day without the provider, and again when it is back', async (t) => {
    const { provider, read, pass } = await openTokens(t, 'asserted')
    assert.equal(await read(), 'open/u-1')
    provider.state.isDown = true
    for (let hour = 0; hour < 23; hour += 1) {
      pass(3_600_000)
      assert.equal(await read(), 'open/u-1', `after ${hour} hours`)
    }
    pass(3_600_000)
    assert.match(await read(), /^provider_unavailable/)
    provider.state.isDown = false
    pass(300_000)
    assert.equal(await read(), 'open/u-1')
  })

  it('with unknown keys cause one fetch, and other tokens are accepted meanwhile', async (t) => {
    const { provider, read, pass } = await openTokens(t, 'asserted')
    await read()
    const before = provider.state.fetches
    pass(60_000)
    const unknown = Array.from({ length: 50 }, (_, index) => read({ kid: `unknown-${index}` }))
    assert.equal(await read(), 'open/u-1')
    for (const result of await Promise.all(unknown)) assert.match(result, /^token_refused/)
    assert.equal(provider.state.fetches, before + 1)
  })

  const headers: readonly [why: string, header: object][] = [
    ...['jwk', 'jku', 'x5u', 'x5c', 'b64', 'crit'].map((name) => [`has ${name}`, { [name]: {} }] as [string, object]),
    ['has an algorithm that is not allowed', { alg: 'RS256' }],
    ['has the type of another token', { typ: 'logout+jwt' }],
  ]
  it('are refused without a fetch if the header is wrong, whichever key it names', async (t) => {
    const { provider, read } = await openTokens(t, 'asserted')
    for (const kid of ['1', 'unknown'])
      for (const [why, header] of headers)
        assert.match(await read({ kid, ...header }), /^(token_refused|absent)/, `${why}, kid ${kid}`)
    assert.equal(provider.state.fetches, 0)
    assert.equal(await read(), 'open/u-1')
    for (const [why, header] of headers)
      assert.match(await read({ kid: 'unknown', ...header }), /^(token_refused|absent)/, why)
    assert.equal(provider.state.fetches, 1)
  })
})
