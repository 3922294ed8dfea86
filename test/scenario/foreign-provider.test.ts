// Tokens of an identity provider that others have written.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FOREIGN_AUDIENCE, startForeignProvider } from '../support/foreign-provider.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const provider = await startForeignProvider(scope)
const { document, multiModel, cardea } = await startServer(scope, {
  // the audience of ID tokens is accepted as well, so that only their form tells them apart
  'provider:foreign': { issuer: provider.issuer, audience: `${FOREIGN_AUDIENCE}, ${provider.client.client_id}` },
})

for (const [name, subject] of [
  ['ada', 'u-1'],
  ['robot', provider.client.client_id],
]) {
  await cardea.users.create({ name: name ?? '', password: 'correct horse 1' })
  await send(document, {
    method: 'POST',
    path: `/_cardea/api/users/${name}/external-accounts`,
    headers: ADMIN,
    body: { provider: 'foreign', issuer: provider.issuer, subject },
  })
}

const sessionOf = (token = '') => send(document, { path: '/_session', headers: { Authorization: `Bearer ${token}` } })

describe('a provider that others have written', () => {
  it('signs a user in, whose access token is accepted at both doors, and whose ID token is not', async () => {
    const { access_token: access = '', id_token: id = '' } = await provider.signIn('u-1')
    assert.equal((await sessionOf(access)).json.userCtx.name, 'ada')
    const own = { path: '/_api/user/ada', headers: { Authorization: `Bearer ${access}` } }
    assert.equal((await send(multiModel, own)).status, 200)
    const refused = await sessionOf(id)
    assert.equal(refused.status, 401)
    assert.match(refused.json.reason, /may be an ID token.*send the access token/)
  })

  it('changes its key under load, and no token is refused', async () => {
    const replies = new Map<string, number>()
    const work = async () => {
      for (let count = 0; count < 40; count += 1) {
        const token = await provider.requestToken()
        const { status, json } = await sessionOf(token)
        const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
        const seen = `key ${kid}: ${status} ${json.userCtx?.name}`
        replies.set(seen, (replies.get(seen) ?? 0) + 1)
        if (count === 20) rotateOnce()
      }
    }
    let isRotated = false
    const rotateOnce = () => {
      if (!isRotated) provider.rotate('2')
      isRotated = true
    }
    await Promise.all([work(), work(), work()])
    assert.deepEqual([...replies.keys()].toSorted(), ['key 1: 200 robot', 'key 2: 200 robot'])
  })
})
