import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createProviderTokens } from '../../src/auth/provider-token.ts'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { textOf } from '../../src/base/errors.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { readClaimPath } from '../../src/keys/document-claims.ts'
import { createProviderKeys } from '../../src/keys/provider-keys.ts'
import { AUDIENCE, startProvider } from '../support/provider.ts'

it('a token of an account that several users have is refused, and creates no user', async (t) => {
  const { issuer, signToken } = await startProvider(t)
  const place = { name: 'open', issuer, issuers: [issuer], discovery: '', jwksUri: '' }
  const provider = {
    name: 'open',
    keys: createProviderKeys({ place, maxAgeMs: 60_000, clock: SYSTEM_CLOCK, log: SILENT_LOG }),
    algorithms: ['ES256'],
    users: 'create',
    keepsNames: false,
    roleMap: [],
    rules: {
      audience: [AUDIENCE],
      clients: [],
      clientId: '',
      name: readClaimPath('sub'),
      roles: undefined,
      skewSeconds: 0,
    },
  } as const
  const unused = () => assert.fail('not called')
  const find = createProviderTokens(
    {
      providers: new Map([[issuer, provider]]),
      directory: {
        listLinked: async () => ['ada', 'bob'],
        createLinked: unused,
        findAccount: unused,
        peekAccount: unused,
        isForeignTokenLive: unused,
        isForeignTokenKnownLive: unused,
      },
      maxLifetimeSeconds: () => 0,
      clock: SYSTEM_CLOCK,
    },
    'jwt',
  )
  const verdict = await find(signToken())
  assert.match(verdict?.kind === 'refused' ? textOf(verdict.error) : '', /several users have this account/)
})
