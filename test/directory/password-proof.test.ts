import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCESS_TOKEN, PASSWORD } from '../../src/auth/basic.ts'
import { FOREIGN_TOKEN, ISSUED_TOKEN } from '../../src/auth/issued-token.ts'
import { PROXY_HEADERS } from '../../src/auth/proxy.ts'
import { COOKIE_SESSION } from '../../src/auth/session/account-session.ts'
import { TOKEN_SESSION } from '../../src/auth/session/token-session.ts'
import { type Authenticated, type Credential, type CredentialKind, NO_GRANTS } from '../../src/directory/identity.ts'
import { requirePassword } from '../../src/directory/password-proof.ts'
import { NO_PASSWORD } from '../../src/passwords/schemes.ts'
import { createTestClock, START_SECONDS } from '../support/directory.ts'

const ADA = {
  name: 'ada',
  roles: [],
  isAdmin: false,
  grants: NO_GRANTS,
  sessionEpoch: { generation: 1, seconds: 0 },
  password: { scheme: 'pbkdf2' },
}
const WITHOUT_PASSWORD = { ...ADA, password: NO_PASSWORD }
const session = { id: 'with password', name: 'ada' }
const issued = { ...session, generation: 1, issuedAt: START_SECONDS }

const as = (kind: CredentialKind, rest: Partial<Credential> = {}): Authenticated => ({
  identity: ADA,
  credential: { kind, handler: 'any', ...rest },
})

const ROWS: readonly { name: string; who: Authenticated; isEnough: boolean }[] = [
  { name: 'Basic with the password', who: as(PASSWORD), isEnough: true },
  { name: 'Basic with an access token', who: as(ACCESS_TOKEN, { accessToken: 'x', expiresAt: 1 }), isEnough: false },
  { name: 'a cookie opened with the password', who: as(COOKIE_SESSION, { session }), isEnough: true },
  { name: 'a cookie opened with a token', who: as(TOKEN_SESSION, { session }), isEnough: false },
  {
    name: 'a cookie another server opened',
    who: as(COOKIE_SESSION, { session: { ...session, id: 'other' } }),
    isEnough: false,
  },
  { name: 'a token issued for the password', who: as(ISSUED_TOKEN, { session: issued }), isEnough: true },
  {
    name: 'a token issued for an access token',
    who: as(ISSUED_TOKEN, { session: issued, accessToken: 'x' }),
    isEnough: false,
  },
  { name: 'a token signed elsewhere', who: as(FOREIGN_TOKEN), isEnough: false },
  {
    name: 'a token renewed from one signed elsewhere',
    who: as(ISSUED_TOKEN, { session: { ...issued, id: 'other' } }),
    isEnough: false,
  },
  {
    name: 'a fresh sign-in at the provider of a user without a password',
    who: {
      ...as(COOKIE_SESSION, { session: { ...session, id: 'provider fresh' } }),
      identity: WITHOUT_PASSWORD,
    } as Authenticated,
    isEnough: true,
  },
  {
    name: 'an earlier sign-in at the provider of a user without a password',
    who: {
      ...as(COOKIE_SESSION, { session: { ...session, id: 'provider' } }),
      identity: WITHOUT_PASSWORD,
    } as Authenticated,
    isEnough: false,
  },
  {
    name: 'a fresh sign-in at the provider of a user with a password',
    who: as(COOKIE_SESSION, { session: { ...session, id: 'provider fresh' } }),
    isEnough: false,
  },
  { name: 'the headers of a proxy', who: as(PROXY_HEADERS), isEnough: false },
]

function createDeps(maxAgeSeconds: number) {
  const clock = createTestClock()
  const findPasswordTime = (id: string) => (id === 'with password' ? START_SECONDS : undefined)
  const findExternalOpening = (id: string) =>
    id.startsWith('provider')
      ? { at: START_SECONDS, isFresh: id === 'provider fresh', hasFactor: false, account: undefined, link: undefined }
      : undefined
  const directory = {
    findPasswordTime,
    findExternalOpening,
    isPasskeySession: () => false,
    isSessionEnded: () => false,
  }
  return { clock, deps: { directory, maxAgeSeconds: () => maxAgeSeconds, clock } }
}

for (const { name, who, isEnough } of ROWS) {
  test(`${name} ${isEnough ? 'is' : 'is not'} enough to change the own password`, async () => {
    const { deps } = createDeps(0)
    const attempt = requirePassword(who, deps, () => true)
    if (isEnough) await attempt
    else await assert.rejects(attempt, { code: 'password_required' })
  })
}

test('an old session needs the current password as well, and Basic with it does not', async () => {
  const { deps, clock } = createDeps(900)
  clock.advance(899)
  await requirePassword(as(COOKIE_SESSION, { session }), deps)
  clock.advance(1)
  await assert.rejects(requirePassword(as(COOKIE_SESSION, { session }), deps), {
    code: 'password_required',
    reason: /900 seconds/,
  })
  await assert.rejects(
    requirePassword(as(COOKIE_SESSION, { session }), deps, () => false),
    { code: 'password_required' },
  )
  await requirePassword(as(COOKIE_SESSION, { session }), deps, () => true)
  await requirePassword(as(PASSWORD), deps)
})
