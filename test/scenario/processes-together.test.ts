// Two workers of one server, and two nodes over one PostgreSQL: what they count, do and end together.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { connectPostgres } from '../store/postgres-server.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { startMailServer } from '../support/mail.ts'
import { createPasskeyUsers } from '../support/passkeys.ts'
import { bySecurity, openPouchdbServer, toUserDatabase } from '../support/pouchdb-server.ts'
import { AS_ADMIN, basic, send } from '../support/request.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'
import { startSiblings } from '../support/sibling-servers.ts'
import { beforeDocument, openStream } from '../support/upstream.ts'
import { changeUser, hashPassword, IN_COUCHDB, toDocument } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

interface Process {
  readonly document: string
}

type Start = (scope: Scope, ...options: readonly AnyOptions[]) => Promise<readonly [Process, Process]>

const UNLIMITED: AnyOptions = {
  auth: { 'account-failures': 0, 'peer-failures': 0, 'min-password-length': 0 },
  chttpd_auth_lockout: { mode: 'off' },
}

const merge = (given: readonly AnyOptions[]): AnyOptions => Object.assign({}, UNLIMITED, ...given)

/** The first one of each pair does what one does for all. */
const PAIRS: Readonly<Record<string, Start>> = {
  async 'two workers'(scope, ...given) {
    const store = { url: `sqlite:${join(makeFolder(scope), 'store.db')}` }
    const [here, there] = await startSiblings(scope, 2, { options: { ...merge(given), store } })
    return [here ?? assert.fail(), there ?? assert.fail()]
  },
  async 'two nodes'(scope, ...given) {
    const postgres = await connectPostgres()
    scope.after(() => postgres.stop())
    const options = { ...merge(given), store: { url: await postgres.createPlace() } }
    return [await startServer(scope, options), await startServer(scope, options)]
  },
}

const post = ({ document }: Process, path: string, body: object, as?: string) =>
  send(document, { method: 'POST', path, body, ...(as && { as }) })

async function addUser(at: Process, name: string): Promise<void> {
  const { status, body } = await post(at, '/_cardea/api/users', { name, password: 'pw' }, AS_ADMIN)
  assert.equal(status, 200, body)
}

const statusOf = async ({ document }: Process, name: string, password = 'pw'): Promise<number> =>
  (await send(document, { path: '/_session', as: basic(name, password) })).status

const signIn = (at: Process, name: string) => post(at, '/_session', { name, password: 'pw' })

const countOf = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length

for (const [pair, start] of Object.entries(PAIRS))
  describe(`${pair} together`, () => {
    it('accept as many requests for messages as one, and send each once', async (t) => {
      const mail = await startMailServer(t)
      const [here, there] = await start(t, {
        mail: {
          url: mail.url,
          from: 'no-reply@shop.example',
          'mailbox-requests-per-hour': 3,
          'client-requests-per-hour': 0,
        },
        console: { 'public-url': 'https://db.example.com' },
      })
      for (const name of ['ada', 'bob']) {
        await addUser(here, name)
        const path = `/_cardea/api/users/${name}/address`
        const body = { address: `${name}@example.com` }
        assert.equal((await send(here.document, { method: 'PUT', path, as: AS_ADMIN, body })).status, 200)
      }
      const forget = async (at: Process, address: string) =>
        (await post(at, '/_cardea/account/password-reset', { address })).status
      const turns = Array.from({ length: 10 }, (_, turn) => forget(turn % 2 === 0 ? here : there, 'ada@example.com'))
      const statuses = await Promise.all(turns)
      assert.deepEqual([countOf(statuses, 200), countOf(statuses, 429)], [3, 7], `${statuses}`)
      // jobs are done in their order, so those of before have been sent, too
      await waitUntil(() => mail.mails.length >= 3)
      assert.equal(await forget(there, 'bob@example.com'), 200)
      await mail.take('bob@example.com')
      assert.equal(mail.mails.filter(({ receiver }) => receiver === 'ada@example.com').length, 3)
    })

    it('accept what a passkey has signed once', async (t) => {
      const [here, there] = await start(t, { passkeys: { origins: 'http://localhost:1' } })
      await addUser(here, 'ada')
      await waitUntil(async () => (await statusOf(there, 'ada')) === 200)
      const [first, second] = [createPasskeyUsers(here.document), createPasskeyUsers(there.document)]
      const device = createAuthenticator('http://localhost:1', { counts: true })
      const { reply } = await first.addPasskey(basic('ada', 'pw'), device)
      assert.equal(reply.status, 200, reply.body)
      // a challenge of one is valid at the other
      await waitUntil(async () => (await second.signIn({ passkey: await first.signWith(device) })).status === 200)
      for (let round = 0; round < 5; round += 1) {
        const passkey = await first.signWith(device)
        const replies = await Promise.all([first, second, first, second].map((each) => each.signIn({ passkey })))
        const statuses = replies.map(({ status }) => status)
        assert.deepEqual([countOf(statuses, 200), countOf(statuses, 401)], [1, 3], `${statuses}`)
      }
    })

    it('create one database for a user, whose sign-in waits for it at both', async (t) => {
      const database = await openPouchdbServer(t, { mayReach: bySecurity })
      const enabled = { 'user-databases': { enabled: true, wait: 120 } }
      const [here, there] = await start(t, beforeDocument(database.url), enabled)
      const names = Array.from({ length: 6 }, (_, index) => `user${index}`)
      await Promise.all(names.map((name, index) => addUser(index % 2 === 0 ? here : there, name)))
      await waitUntil(async () => (await statusOf(here, 'user5')) === 200 && (await statusOf(there, 'user4')) === 200)
      const opened = await Promise.all(names.flatMap((name) => [signIn(here, name), signIn(there, name)]))
      assert.equal(
        countOf(
          opened.map(({ status }) => status),
          200,
        ),
        12,
      )
      for (const name of names) {
        const own = toUserDatabase(name)
        assert.deepEqual(database.securities.get(own)?.members?.names, [name])
        assert.equal(database.asked.filter((line) => line === `PUT /${own}`).length, 1)
      }
    })

    it('follow users in CouchDB, and end at once what a change there ends', async (t) => {
      const database = await openPouchdbServer(t)
      const users = database.open('_users')
      await users.bulkDocs([toDocument('ada'), toDocument('bob')])
      const [here, there] = await start(t, beforeDocument(database.url), IN_COUCHDB)
      for (const each of [here, there]) await waitUntil(async () => (await statusOf(each, 'ada')) === 200)
      await users.put(toDocument('eve'))
      for (const each of [here, there]) await waitUntil(async () => (await statusOf(each, 'eve')) === 200)
      await database.open('shop').put({ _id: 'apple' })
      const headers = { Authorization: basic('bob', 'pw') }
      const path = '/shop/_changes?feed=longpoll&since=1'
      const streams = await Promise.all([here, there].map(({ document }) => openStream(document, path, headers)))
      await changeUser(users, 'bob', hashPassword('new'))
      await Promise.all(streams.map(({ ended }) => ended))
      for (const each of [here, there]) await waitUntil(async () => (await statusOf(each, 'bob')) === 401)
    })
  })
