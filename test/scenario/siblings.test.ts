// Workers of one server over one store: a change that one of them has acknowledged holds in the others at once.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connectPostgres, type Postgres } from '../store/postgres-server.ts'
import { AS_ADMIN, basic, type Reply, type Request, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { type SiblingServer, startSiblings } from '../support/sibling-servers.ts'

const postgres = await connectPostgres()
const scope = createSharedScope()
const url = await createSilentPlace(postgres)
const [here, there, third] = (await startSiblings(scope, 3, { options: { store: { url } } })) as [
  SiblingServer,
  SiblingServer,
  SiblingServer,
]
scope.after(() => postgres.stop())

/** Writes notify no other process: each sees the changes of the others when it polls, or is told. */
async function createSilentPlace(server: Postgres): Promise<string> {
  const place = await server.createPlace()
  await server.execute(
    place,
    'CREATE FUNCTION pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ SELECT NULL::void $$',
  )
  return `${place}%2Cpg_catalog`
}

const OLD = 'old-password-11'
const NEW = 'new-password-22'

async function requireStatus(reply: Promise<Reply>, status: number): Promise<Reply> {
  const received = await reply
  assert.equal(received.status, status, received.body)
  return received
}

const manage = (request: Request) => send(here.multiModel, { as: AS_ADMIN, ...request })
const createUser = (name: string) =>
  requireStatus(manage({ method: 'POST', path: '/_api/user', body: { user: name, passwd: OLD } }), 201)

const statusAt = async (server: SiblingServer, as: string): Promise<number> =>
  (await send(server.document, { path: '/_session', as })).status

async function openSession(server: SiblingServer, name: string): Promise<Record<string, string>> {
  const request = { method: 'POST', path: '/_session', body: { name, password: OLD } }
  const opened = await requireStatus(send(server.document, request), 200)
  return { cookie: String(opened.headers['set-cookie']).split(';')[0] ?? '' }
}

async function nameAt(server: SiblingServer, headers: Record<string, string>): Promise<unknown> {
  const reply = await send(server.document, { path: '/_session', headers })
  return (reply.json as { readonly userCtx?: { readonly name: unknown } }).userCtx?.name ?? null
}

const CHANGES: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
  'a password change': (name) =>
    requireStatus(manage({ method: 'PATCH', path: `/_api/user/${name}`, body: { passwd: NEW } }), 200),
  'a deactivation': (name) =>
    requireStatus(manage({ method: 'PATCH', path: `/_api/user/${name}`, body: { active: false } }), 200),
  'a deletion': (name) => requireStatus(manage({ method: 'DELETE', path: `/_api/user/${name}` }), 202),
}

const ROUNDS = 10

describe('workers of one server', () => {
  for (const [what, change] of Object.entries(CHANGES))
    it(`${what} holds in all of them when it is acknowledged`, async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const name = `${what.replaceAll(' ', '-')}-${round}`
        await createUser(name)
        const as = basic(name, OLD)
        // only what is certainly up to date is remembered
        await Promise.all([there.app.directory.catchUp(), third.app.directory.catchUp()])
        const both = () => Promise.all([statusAt(there, as), statusAt(third, as)])
        assert.deepEqual(await both(), [200, 200])
        await change(name)
        assert.deepEqual(await both(), [401, 401], `round ${round}`)
      }
    })

  it('an option holds in all of them when it is acknowledged', async () => {
    const path = '/_node/_local/_config/chttpd/require_valid_user'
    const anonymous = async (server: SiblingServer) => (await send(server.document, { path: '/' })).status
    for (let round = 0; round < ROUNDS; round += 1) {
      await requireStatus(send(here.document, { method: 'PUT', path, as: AS_ADMIN, body: JSON.stringify('true') }), 200)
      assert.deepEqual([await anonymous(there), await anonymous(third)], [401, 401])
      await requireStatus(send(there.document, { method: 'DELETE', path, as: AS_ADMIN }), 200)
      assert.deepEqual([await anonymous(here), await anonymous(third)], [200, 200])
    }
  })

  it('changes of the same options by all of them at once end none of them', async () => {
    const put = (server: SiblingServer, text: string) =>
      send(server.document, {
        method: 'PUT',
        path: '/_node/_local/_config/chttpd_auth/timeout',
        as: AS_ADMIN,
        body: JSON.stringify(text),
      })
    for (let round = 0; round < ROUNDS; round += 1) {
      const replies = await Promise.all(
        [here, there, third].map((server, index) => put(server, String(600 + round * 3 + index))),
      )
      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200, 200],
      )
    }
    assert.deepEqual(
      [here, there, third].map((server) => server.isKilled()),
      [false, false, false],
    )
    const timeouts = [here, there, third].map(({ app }) => app.settings.get().values.chttpd_auth.timeout)
    assert.equal(new Set(timeouts).size, 1, String(timeouts))
  })

  it('notes of one of them are read and ended through another at once', async () => {
    await createUser('noted')
    const as = basic('noted', OLD)
    const path = '/_cardea/api/users/noted/sessions'
    const open = (server: SiblingServer) => openSession(server, 'noted')
    const ask = (request: Request) => requireStatus(send(here.document, { as: AS_ADMIN, ...request }), 200)
    await open(there)
    const user = (await ask({ path: '/_cardea/api/users/noted' })).json as { readonly lastSignIn?: unknown }
    assert.ok(user.lastSignIn, 'the last sign-in')
    const own = await open(here)
    await open(third)
    const listed = (await ask({ path })).json as { readonly sessions: readonly { readonly id: string }[] }
    assert.equal(listed.sessions.length, 3)

    const others = [await open(there), await open(third)]
    const end = { method: 'POST', path: '/_cardea/account/sessions/end-others', body: { current_password: OLD } }
    const ended = await requireStatus(send(here.document, { ...end, headers: own }), 200)
    assert.match(ended.body, /4/)
    for (const headers of others) assert.equal(await nameAt(there, headers), null)
    assert.equal(await nameAt(here, own), 'noted')

    const last = await open(third)
    await ask({ method: 'DELETE', path, body: {} })
    assert.equal(await nameAt(third, last), null)
    assert.equal(await statusAt(there, as), 200)
  })
})
