import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createEmptyUser } from '../../../src/directory/users/revisions.ts'
import type { User } from '../../../src/directory/users/user.ts'
import { restore } from '../../../src/modules/mail/notices.ts'
import { NO_PASSWORD } from '../../../src/passwords/schemes.ts'

it('an account is taken back without passkeys and provider accounts that were added since', () => {
  const toLink = (subject: string, linkedAt: number) => ({ issuer: 'i', subject, provider: 'p', linkedAt })
  const toPasskey = (id: string, createdAt: number) => ({
    id,
    createdAt,
    publicKey: '',
    label: '',
    rpId: 'x',
    transports: [],
    isSynced: false,
  })
  const user: User = {
    ...createEmptyUser('ada', NO_PASSWORD),
    address: { text: 'eve@evil.example', verifiedAt: 100 },
    links: [toLink('own', 99), toLink('other', 100)],
    passkeys: [toPasskey('other', 101)],
  }
  const after = restore(user, { address: 'ada@example.com', since: 100 }, 200)
  assert.deepEqual(after.links, [toLink('own', 99)])
  assert.ok(!('passkeys' in after))
  assert.deepEqual(after.address, { text: 'ada@example.com', verifiedAt: 200, provenBy: 'undo' })
})
