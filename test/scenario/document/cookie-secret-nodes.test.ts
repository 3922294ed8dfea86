// Two nodes on one PostgreSQL: a new cookie secret applies to both, with or without a grace period.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type Cardea, createCardea } from '../../../src/index.ts'
import { connectPostgres, type Postgres } from '../../store/postgres-server.ts'
import { ADMIN, send } from '../../support/request.ts'
import { waitUntil } from '../../support/wait.ts'

let postgres: Postgres
let storeUrl: string
const nodes: { readonly cardea: Cardea; readonly url: string }[] = []

async function startNode(): Promise<void> {
  const cardea = await createCardea({
    options: {
      store: { url: storeUrl },
      node: { name: `cardea@${randomUUID()}` },
      chttpd: { port: 0 },
      server: { endpoint: 'none' },
      chttpd_auth: { iterations: 1, timeout: 86_400 },
      admins: { admin: 'adminpw' },
      auth: { 'min-password-length': 0 },
    },
  })
  nodes.push({ cardea, url: (await cardea.listen()).document[0] ?? '' })
}

before(async () => {
  postgres = await connectPostgres()
  storeUrl = await postgres.createPlace()
  await startNode()
  await startNode()
})
after(async () => {
  for (const { cardea } of nodes) await cardea.close()
  await postgres.stop()
})

const urlOf = (index: number): string => nodes[index]?.url ?? ''

async function signIn(index: number): Promise<Record<string, string>> {
  const body = JSON.stringify({ name: 'admin', password: 'adminpw' })
  const headers = { 'Content-Type': 'application/json' }
  const answer = await send(urlOf(index), { method: 'POST', path: '/_session', headers, body })
  const [cookie = ''] = (answer.lines['set-cookie']?.[0] ?? assert.fail(answer.body)).split(';')
  return { Cookie: cookie }
}

const prove = (secret: string) => ({
  'X-Auth-CouchDB-UserName': 'thief',
  'X-Auth-CouchDB-Roles': '_admin',
  'X-Auth-CouchDB-Token': createHmac('sha256', secret).update('thief').digest('hex'),
})

async function nameOf(index: number, headers: Record<string, string>): Promise<string | null> {
  return JSON.parse((await send(urlOf(index), { path: '/_session', headers })).body).userCtx.name
}

const replaceSecret = (secret: string, query = '') =>
  send(urlOf(0), {
    method: 'PUT',
    path: `/_node/_local/_config/chttpd_auth/secret${query}`,
    headers: ADMIN,
    body: JSON.stringify(secret),
  })

/** Waits until the other node has loaded the secret. */
const untilKnown = (secret: string): Promise<void> =>
  waitUntil(async () => (await nameOf(1, prove(secret))) === 'thief')

const SECRETS = ['the-first-secret-of-cookies', 'the-second-secret-of-cookies', 'the-third-secret-of-cookies'] as const

test('on every node a replaced secret still verifies cookies for a while, but no proxy tokens', async () => {
  await replaceSecret(SECRETS[0])
  await untilKnown(SECRETS[0])
  const cookie = await signIn(0)
  assert.equal((await replaceSecret(SECRETS[1])).status, 200)
  await untilKnown(SECRETS[1])
  for (const node of [0, 1])
    assert.deepEqual([await nameOf(node, cookie), await nameOf(node, prove(SECRETS[0]))], ['admin', null])
})

test('replacing a secret with grace=0 revokes earlier cookies on every node, also after a restart', async () => {
  const older = await signIn(1)
  const { status, body } = await replaceSecret(SECRETS[2], '?grace=0')
  assert.deepEqual([status, body], [200, '"***"\n'])
  assert.equal(await nameOf(0, older), null)
  await untilKnown(SECRETS[2])
  assert.equal(await nameOf(1, older), null)
  const fresh = await signIn(1)
  await startNode()
  for (const node of [0, 1, 2])
    assert.deepEqual([await nameOf(node, older), await nameOf(node, fresh)], [null, 'admin'], `node ${node}`)
})

test('the next secret has a grace period again, and a restart ends it', async () => {
  const cookie = await signIn(0)
  await replaceSecret('the-fourth-secret-of-cookies')
  await untilKnown('the-fourth-secret-of-cookies')
  await startNode()
  assert.deepEqual(
    [await nameOf(0, cookie), await nameOf(1, cookie), await nameOf(3, cookie)],
    ['admin', 'admin', null],
  )
})
