// Every write of a user is checked in its transaction, with the user as it is then and as it would be.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '../../../src/base/errors.ts'
import { operation } from '../../../src/dialects/admin-api/operation.ts'
import { object } from '../../../src/dialects/admin-api/schemas/schema.ts'
import { toManager } from '../../../src/dialects/admin-api/users/delegation.ts'
import { type Caller, type CheckWrite, PROGRAM, withCheck } from '../../../src/directory/caller.ts'
import type { Directory } from '../../../src/directory/directory.ts'
import type { DirectoryParts } from '../../../src/directory/parts.ts'
import { withField, withTotp } from '../../../src/directory/users/user.ts'
import { createSqlitePlace } from '../../store/places.ts'
import { isRefused, openTestNode, setRoles } from '../../support/directory.ts'

const LINK = { provider: 'work', issuer: 'https://id.example.com', subject: '1' }

const WRITES: Readonly<Record<string, (at: Directory, caller: Caller) => Promise<unknown>>> = {
  'a change': (at, caller) => at.changeUser('ada', caller, (user) => withField(user, 'extra', { a: 1 })),
  'a password': (at, caller) => at.setPassword('ada', caller, { password: 'engine' }),
  'a deactivation': (at, caller) => at.setActive('ada', caller, false),
  'a grant': (at, caller) => at.setGrant('ada', caller, { database: 'shop' }, 'rw'),
  'a sign-out': (at, caller) => at.signOut('ada', caller),
  'a deletion': (at, caller) => at.removeUser('ada', caller, 'any'),
  'a link': (at, caller) => at.linkAccount('ada', caller, { ...LINK, subject: '2' }),
  'roles of a link': (at, caller) => at.setLinkRoles('ada', caller, LINK, ['writer']),
  'an end of a link': (at, caller) => at.unlinkAccount('ada', caller, LINK),
  'an end of the second factor': (at, caller) => at.removeUserTotp('ada', caller),
}

describe('a write that a check refuses for the user of another node', () => {
  for (const [what, write] of Object.entries(WRITES))
    it(`is not stored: ${what}`, async (t) => {
      const place = await createSqlitePlace()
      t.after(place.remove)
      const [here, there] = [await openTestNode(t, place), await openTestNode(t, place)]
      await here.directory.createUser({ name: 'ada' }, PROGRAM)
      await here.directory.linkAccount('ada', PROGRAM, LINK)
      const before = await here.directory.findUser('ada')
      const seen: (readonly string[])[] = []
      const check: CheckWrite = ({ document: { roles } }) => {
        seen.push(roles)
        if (roles.includes('boss')) throw new Refusal('forbidden')
        // the promotion is stored between the check and the write
        here.hang()
        void setRoles(there.directory, 'ada', ['boss']).finally(here.mend)
      }
      await assert.rejects(write(here.directory, withCheck(PROGRAM, check)), isRefused('forbidden'))
      assert.deepEqual(seen, [[], ['boss']])
      const after = await here.directory.findUser('ada')
      assert.deepEqual(after?.document.roles, ['boss'])
      assert.deepEqual({ ...after, document: undefined }, { ...before, document: undefined })
    })
})

const REVOKED: Caller = {
  async confirm() {
    throw new Refusal('authentication_required')
  },
}

const OTHER_WRITES: typeof WRITES = {
  'a new user': (at, caller) => at.createUser({ name: 'bob' }, caller),
  'an import': (at, caller) => at.importUsers([{ name: 'bob' }], caller, 'replace'),
  'a new administrator': (at, caller) => at.setAdministrator('bob', caller, { password: 'builder' }),
  'the password of an administrator': (at, caller) => at.setAdministrator('root', caller, { password: 'other' }),
  'an end of an administrator': (at, caller) => at.removeAdministrator('root', caller),
  'a second factor': (at, caller) => at.enableTotp('ada', caller, 'A'.repeat(32), '000000'),
  'an end of the second factor of an administrator': (at, caller) => at.removeTotp('root', caller),
  'recovery codes': (at, caller) => at.replaceRecoveryCodes('ada', caller),
  'an end of a session': async (at, caller) => {
    const { sessions } = await at.listSessions({ name: 'ada', limit: 1 })
    return at.revokeSession(sessions[0]?.id ?? assert.fail('no session'), caller)
  },
  'an end of all sessions': (at, caller) => at.revokeSessions('ada', caller),
}

const TOTP = { key: 'JBSWY3DPEHPK3PXP', algorithm: 'sha', length: 6 }

async function noteSession(directory: Directory): Promise<void> {
  const account = (await directory.findAccount('ada')) ?? assert.fail('ada cannot sign in')
  const { issuedAt: createdAt, ...session } = directory.createSession(account)
  const use = { ...session, door: 'document', createdAt, expiresAt: createdAt + 600, peer: '', userAgent: '' }
  directory.noteSession(session.id, () => use)
  await directory.flushSessions()
}

describe('a write for a caller whose credential was revoked meanwhile', () => {
  for (const [what, write] of Object.entries({ ...WRITES, ...OTHER_WRITES }))
    it(`is not stored: ${what}`, async (t) => {
      const { directory, store } = await openTestNode(t)
      for (const name of ['root', 'boss']) await directory.setAdministrator(name, PROGRAM, { password: 'secret' })
      await directory.createUser({ name: 'ada' }, PROGRAM)
      await directory.changeUser('ada', PROGRAM, (user) => withTotp(user, TOTP))
      await directory.linkAccount('ada', PROGRAM, LINK)
      await noteSession(directory)
      const before = await store.head()
      await assert.rejects(write(directory, REVOKED), isRefused('authentication_required'))
      assert.deepEqual(await store.head(), before)
    })

  it('cannot be programmed without asking for it', () => {
    const write = ({ store, administration, ended }: DirectoryParts) => [
      // @ts-expect-error: only `begin` returns what can be written
      store.writeUser,
      // @ts-expect-error: as above
      store.setSetting,
      // @ts-expect-error: as above
      administration.setTotp,
      // @ts-expect-error: as above
      ended.end,
    ]
    assert.equal(typeof write, 'function')
  })

  it('is checked in every operation that user administrators may call', () => {
    const reply = object({})
    const row = operation('POST /users', 'userAdmin', {
      summary: 'For this test',
      reply,
      async run(deps, call) {
        // @ts-expect-error: only `toManager` makes a caller that may write
        await deps.directory.signOut('ada', call.caller)
        await deps.directory.signOut('ada', toManager(deps, call))
        return {}
      },
    })
    assert.equal(row.allowed, 'userAdmin')
  })
})
