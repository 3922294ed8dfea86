// Hashes of other applications sign in at both doors, and are replaced by that.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { member, openMultiModel } from '../support/multi-model.ts'
import { AS_ADMIN, basic, createAsk } from '../support/request.ts'

/** Of little cost, and yet below that of the iterations configured here: a weaker hash would not replace them. */
const ENCODED: Readonly<Record<string, string>> = {
  argon2id: '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4',
  bcrypt: '$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm',
  scrypt: '$scrypt$ln=10,r=8,p=1$c29tZXNhbHQ$wdXoWEig5T693O7BJbufEPRk+qarG40BYOh1xe9tMAc',
}

describe('an imported password', () => {
  for (const [scheme, text] of Object.entries(ENCODED)) {
    for (const door of ['document', 'multi-model'] as const) {
      it(`hashed with ${scheme} signs in at the ${door} door and is rehashed`, async (t) => {
        const { ask, document } = await openMultiModel(t, { chttpd_auth: { iterations: 50_000 } })
        const askDocument = createAsk(document)

        const users = [{ name: 'ann', password: { password_scheme: scheme, encoded_hash: text } }]
        const imported = await ask('POST', '/_cardea/api/transfer/users', { as: AS_ADMIN, body: { users } })
        assert.deepEqual(imported.json, { outcomes: [{ kind: 'created' }] }, imported.body)

        const signIn = (password: string) =>
          door === 'document'
            ? askDocument('GET', '/_session', { as: basic('ann', password) })
            : ask('GET', '/_api/user/ann', { as: basic('ann', password) })
        assert.equal((await signIn('wrong')).status, 401)
        assert.equal((await signIn('password')).status, 200)

        const findScheme = async () =>
          member((await askDocument('GET', '/_users/org.couchdb.user:ann', { as: AS_ADMIN })).json, 'password_scheme')
        while ((await findScheme()) === scheme) t.signal.throwIfAborted()
        assert.equal(await findScheme(), 'pbkdf2')
        assert.equal((await signIn('password')).status, 200)
        assert.equal((await signIn('wrong')).status, 401)
      })
    }
  }

  it('is left out of an export for a database that cannot verify it', async (t) => {
    const { ask } = await openMultiModel(t)
    const users = Object.entries(ENCODED).map(([scheme, text]) => ({
      name: scheme,
      password: { password_scheme: scheme, encoded_hash: text },
    }))
    const json = { users }
    assert.equal((await ask('POST', '/_cardea/api/transfer/users', { as: AS_ADMIN, body: json })).status, 200)
    for (const format of ['document', 'multi-model']) {
      const { json, body } = await ask('GET', `/_cardea/api/transfer/users?format=${format}`, { as: AS_ADMIN })
      const written = member(json, 'users')
      assert.ok(Array.isArray(written) && written.length === users.length, body)
      for (const user of written) assert.deepEqual(member(user, 'losses'), ['password'], format)
      assert.doesNotMatch(body, /encoded_hash/)
    }
  })

  it('is rejected in a user document, because CouchDB has no such scheme', async (t) => {
    const { document } = await openMultiModel(t)
    const json = {
      name: 'ann',
      type: 'user',
      roles: [],
      password_scheme: 'argon2id',
      encoded_hash: ENCODED['argon2id'],
    }
    const answer = await createAsk(document)('PUT', '/_users/org.couchdb.user:ann', { as: AS_ADMIN, body: json })
    assert.equal(answer.status, 403)
    assert.equal(member(answer.json, 'reason'), 'Password scheme `argon2id` not supported.')
  })
})
