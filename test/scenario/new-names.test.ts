// Names of users and administrators that are created: in NFC, and not to be taken for an administrator's.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AS_ADMIN, createAsk, type Reply } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), { chttpd_auth: { allow_sign_up: true } })
const ask = createAsk(server.multiModel)
const askDocument = createAsk(server.document)

const toDocument = (name: string) => ({ name, type: 'user', roles: [], password: 'long enough' })
const toPath = (name: string) => `/_users/org.couchdb.user:${encodeURIComponent(name)}`

const ENTRANCES: Readonly<Record<string, (name: string) => Promise<Reply>>> = {
  'a user document': (name) => askDocument('PUT', toPath(name), { as: AS_ADMIN, body: toDocument(name) }),
  'a sign-up': (name) => askDocument('PUT', toPath(name), { body: toDocument(name) }),
  'POST /_api/user': (name) => ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: name, passwd: 'x' } }),
  'a user of the admin API': (name) =>
    ask('POST', '/_cardea/api/users', { as: AS_ADMIN, body: { name, password: 'x' } }),
  '_config/admins': (name) =>
    askDocument('PUT', `/_node/_local/_config/admins/${encodeURIComponent(name)}`, { as: AS_ADMIN, body: '"secret"' }),
  'an administrator of the admin API': (name) =>
    ask('POST', '/_cardea/api/administrators', { as: AS_ADMIN, body: { name, password: 'secret' } }),
}

const REFUSED = [
  ['not in NFC', 'Ame\u0301lie', /normalization form C/],
  ['a zero-width space', 'adm\u200bin', /invisible characters/],
  ['a right-to-left override', '\u202enimda', /invisible characters/],
  ['another case', 'Admin', /differs from that of an administrator only/],
  ['full-width letters', 'ａｄｍｉｎ', /differs from that of an administrator only/],
  ['a dotless i', 'adm\u0131n', /differs from that of an administrator only/],
] as const

for (const [entrance, create] of Object.entries(ENTRANCES)) {
  describe(`created by ${entrance}`, () => {
    for (const [what, name, reason] of REFUSED) {
      it(`${what} is rejected`, async () => {
        const answer = await create(name)
        assert.equal(answer.status, 400, answer.body)
        assert.match(answer.body, reason)
      })
    }

    it('a name in NFC that resembles no administrator is accepted', async () => {
      const answer = await create(`Amélie by ${entrance}`.replaceAll('/', ' '))
      assert.ok(answer.status < 300, answer.body)
    })
  })
}

describe('imported', () => {
  const importUser = async (name: string) =>
    (await ask('POST', '/_cardea/api/transfer/users', { as: AS_ADMIN, body: { users: [{ name }] } })).body

  it('a name that is not in NFC is kept', async () => {
    assert.match(await importUser('Zoe\u0308'), /"created"/)
  })

  it('a name that resembles an administrator is rejected', async () => {
    assert.match(await importUser('ADMIN'), /differs from that of an administrator only/)
  })
})

it('a user that existed before the administrator can still be changed', async () => {
  assert.equal((await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'Boss', passwd: 'x' } })).status, 201)
  const made = await askDocument('PUT', '/_node/_local/_config/admins/boss', { as: AS_ADMIN, body: '"secret"' })
  assert.equal(made.status, 200, made.body)
  assert.equal((await ask('PATCH', '/_api/user/Boss', { as: AS_ADMIN, body: { passwd: 'y' } })).status, 200)
  const again = await askDocument('PUT', '/_node/_local/_config/admins/boss', { as: AS_ADMIN, body: '"other"' })
  assert.equal(again.status, 200, again.body)
})
