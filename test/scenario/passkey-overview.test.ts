// Where administrators see who has passkeys: the lists, the policy, the metrics.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAccounts } from '../support/accounts.ts'
import { createPasskeyUsers, openByPasskey } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope())
const { ask, addUser } = createAccounts(server.document)
const { addPasskey } = createPasskeyUsers(server.document)

const ROLES = '/settings/admin/second-factor-roles'

type Listed = Readonly<{ name: string; totp: boolean; passkeys?: number }>

it('a passkey is a second factor in the list of users, its filter and the policy', async () => {
  assert.equal((await ask(AS_ADMIN, 'PUT', ROLES, { value: 'staff' })).status, 200)
  await addPasskey(await addUser('ada', { roles: ['staff'] }))
  await addUser('bob', { roles: ['staff'] })
  const list = async (query = ''): Promise<readonly Listed[]> =>
    (await ask(AS_ADMIN, 'GET', `/users${query}`)).json.users
  const shown = (await list()).map(({ name, totp, passkeys }) => [name, totp, passkeys])
  assert.deepEqual(shown, [
    ['ada', false, 1],
    ['bob', false, undefined],
  ])
  assert.deepEqual(
    (await list('?status=second-factor')).map(({ name }) => name),
    ['ada'],
  )
  assert.deepEqual(
    (await list('?status=no-second-factor')).map(({ name }) => name),
    ['bob'],
  )
  const { missing } = (await ask(AS_ADMIN, 'GET', '/second-factor')).json
  assert.deepEqual(missing.map(({ name }: Listed) => name).toSorted(), ['bob'])
})

it('events of passkeys are counted in cardea_security_events_total', async () => {
  const as = await addUser('carl')
  const { reply } = await addPasskey(as)
  assert.equal((await ask(as, 'DELETE', `/account/passkeys/${reply.json.passkeys[0].id}`)).status, 200)
  const { body } = await send(server.document, { path: '/_cardea/metrics', as: AS_ADMIN })
  assert.match(body, /^cardea_security_events_total\{event="passkey\.removed"\} 1$/m)
  assert.match(body, /^cardea_security_events_total\{event="passkey\.added"\} 2$/m)
})

it('a passkey of an administrator is a second factor in the list of administrators and the policy', async () => {
  const { device } = await addPasskey(AS_ADMIN)
  const { call } = await openByPasskey(server.document, device)
  const set = await call('PUT', ROLES, { value: '_admin,staff' })
  assert.equal(set.status, 200, set.body)
  const { administrators } = (await call('GET', '/administrators')).json
  assert.deepEqual(
    administrators.map(({ name, totp, passkeys }: Listed) => [name, totp, passkeys]),
    [['admin', false, 1]],
  )
  const { missing } = (await call('GET', '/second-factor')).json
  assert.deepEqual(
    missing.map(({ name }: Listed) => name),
    ['bob'],
  )
})
