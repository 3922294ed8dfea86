// What `cardea check` says of passkeys after a change of the host.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import type { Settings } from '../../../src/config/settings.ts'
import { PASSKEY_CHECK } from '../../../src/modules/passkeys/checks.ts'
import { createAccounts } from '../../support/accounts.ts'
import { createPasskeyUsers } from '../../support/passkeys.ts'
import { AS_ADMIN } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'

it('passkeys of another host are counted, with the names of their users and administrators', async (t) => {
  const url = `sqlite:${join(makeFolder(t), 'store.db')}`
  const { document } = await startServer(t, { store: { url } })
  const { addUser } = createAccounts(document)
  const { addPasskey } = createPasskeyUsers(document)
  const as = await addUser('ann')
  await addUser('ben')
  for (const each of [as, as, AS_ADMIN]) assert.equal((await addPasskey(each)).reply.status, 200)
  const find = (host: string, hasStore = true) => {
    const values = { store: { url }, passkeys: { 'rp-id': host, origins: [] }, console: { 'public-url': '' } }
    // the check reads nothing else
    return PASSKEY_CHECK.find({ values } as unknown as Settings, { hasStore, findDatabase: () => undefined, flags: {} })
  }
  assert.deepEqual(await find('localhost'), [])
  assert.deepEqual(await find('db.example.com', false), [])
  const [finding] = await find('db.example.com')
  assert.deepEqual(
    [finding?.level, finding?.message, finding?.names],
    ['warning', '3 passkeys were made for another host than db.example.com and cannot be used', ['admin', 'ann']],
  )
})
