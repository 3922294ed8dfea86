// Every write of a user is checked in its transaction, with the user as it is then and as it would be.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '../../../src/base/errors.ts'
import type { Directory } from '../../../src/directory/directory.ts'
import { withField } from '../../../src/directory/users/user.ts'
import { ANY_USER, type CheckWrite } from '../../../src/directory/users/user-operations.ts'
import { createSqlitePlace } from '../../store/places.ts'
import { isRefused, openTestNode, setRoles } from '../../support/directory.ts'

const LINK = { provider: 'work', issuer: 'https://id.example.com', subject: '1' }

const WRITES: Readonly<Record<string, (at: Directory, check: CheckWrite) => Promise<unknown>>> = {
  'a change': (at, check) => at.changeUser('ada', check, (user) => withField(user, 'extra', { a: 1 })),
  'a password': (at, check) => at.setPassword('ada', check, { password: 'engine' }),
  'a deactivation': (at, check) => at.setActive('ada', check, false),
  'a grant': (at, check) => at.setGrant('ada', check, { database: 'shop' }, 'rw'),
  'a sign-out': (at, check) => at.signOut('ada', check),
  'a deletion': (at, check) => at.removeUser('ada', check, 'any'),
  'a link': (at, check) => at.linkAccount('ada', check, { ...LINK, subject: '2' }),
  'roles of a link': (at, check) => at.setLinkRoles('ada', check, LINK, ['writer']),
  'an end of a link': (at, check) => at.unlinkAccount('ada', check, LINK),
  'an end of the second factor': (at, check) => at.removeUserTotp('ada', check),
}

describe('a write that a check refuses for the user of another node', () => {
  for (const [what, write] of Object.entries(WRITES))
    it(`is not stored: ${what}`, async (t) => {
      const place = await createSqlitePlace()
      t.after(place.remove)
      const [here, there] = [await openTestNode(t, place), await openTestNode(t, place)]
      await here.directory.createUser({ name: 'ada' })
      await here.directory.linkAccount('ada', ANY_USER, LINK)
      const before = await here.directory.findUser('ada')
      const seen: (readonly string[])[] = []
      const check: CheckWrite = ({ document: { roles } }) => {
        seen.push(roles)
        if (roles.includes('boss')) throw new Refusal('forbidden')
        // the promotion is stored between the check and the write
        here.hang()
        void setRoles(there.directory, 'ada', ['boss']).finally(here.mend)
      }
      await assert.rejects(write(here.directory, check), isRefused('forbidden'))
      assert.deepEqual(seen, [[], ['boss']])
      const after = await here.directory.findUser('ada')
      assert.deepEqual(after?.document.roles, ['boss'])
      assert.deepEqual({ ...after, document: undefined }, { ...before, document: undefined })
    })
})
