import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Authenticated, NO_GRANTS } from '../../src/directory/identity.ts'
import { requirePassword } from '../../src/directory/password-proof.ts'
import { createTestClock, START_SECONDS } from '../support/directory.ts'

const ADA = { name: 'ada', roles: [], isAdmin: false, grants: NO_GRANTS, sessionEpoch: { generation: 1, seconds: 0 } }
const session = { id: 'with password', name: 'ada', expiresAt: START_SECONDS + 600 }
const issued = { id: 'with password', name: 'ada', generation: 1, issuedAt: START_SECONDS }
const bearer = { session: issued, expiresAt: undefined, renewableUntil: undefined, allowedPaths: undefined }
const origin = { issuedAt: 1, expiresAt: 2, algorithm: 'HS256', kid: undefined, keyVersion: 'x' }

const as = (rest: Partial<Authenticated>): Authenticated => ({ identity: ADA, by: 'any', ...rest })

const ROWS: readonly { name: string; who: Authenticated; isEnough: boolean }[] = [
  { name: 'Basic with the password', who: as({ hasPassword: true }), isEnough: true },
  { name: 'Basic with an access token', who: as({ accessToken: { mark: 'x', validUntil: 1 } }), isEnough: false },
  { name: 'a cookie opened with the password', who: as({ session }), isEnough: true },
  { name: 'a cookie opened with a token', who: as({ session, origin }), isEnough: false },
  { name: 'a cookie another server opened', who: as({ session: { ...session, id: 'other' } }), isEnough: false },
  { name: 'a token issued for the password', who: as({ bearer }), isEnough: true },
  { name: 'a token issued for an access token', who: as({ bearer: { ...bearer, accessToken: 'x' } }), isEnough: false },
  { name: 'a token signed elsewhere', who: as({ bearer: { ...bearer, session: undefined } }), isEnough: false },
  {
    name: 'a token renewed from one signed elsewhere',
    who: as({ bearer: { ...bearer, session: { ...issued, id: 'other' } } }),
    isEnough: false,
  },
  { name: 'the headers of a proxy', who: as({}), isEnough: false },
]

function createDeps(maxAgeSeconds: number) {
  const clock = createTestClock()
  const findPasswordTime = (id: string) => (id === 'with password' ? START_SECONDS : undefined)
  return { clock, deps: { directory: { findPasswordTime }, maxAgeSeconds: () => maxAgeSeconds, clock } }
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
  await requirePassword(as({ session }), deps)
  clock.advance(1)
  await assert.rejects(requirePassword(as({ session }), deps), { code: 'password_required', about: /900 seconds/ })
  await assert.rejects(
    requirePassword(as({ session }), deps, () => false),
    { code: 'password_required' },
  )
  await requirePassword(as({ session }), deps, () => true)
  await requirePassword(as({ hasPassword: true }), deps)
})
