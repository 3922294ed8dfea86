// A PostgreSQL failover to an asynchronous standby that lacks the last writes, with two nodes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from '../store/postgres-server.ts'
import { createForwarder } from '../support/forwarder.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()

const portOf = (url: string) => Number(new URL(url).port)
const withPort = (url: string, port: number) => url.replace(/:\d+\//, `:${port}/`)
const pathOf = (name: string) => `/_users/org.couchdb.user:${name}`

const isDone = async (base: string, request: Parameters<typeof send>[1], status: number) =>
  (await send(base, { as: AS_ADMIN, ...request })).status === status

const create = ({ document }: Server, name: string) => {
  const body = { name, type: 'user', roles: [], password: `${name}-password` }
  return waitUntil(() => isDone(document, { method: 'PUT', path: pathOf(name), body }, 201))
}

async function openSession({ document }: Server, name: string): Promise<string> {
  const reply = await send(document, {
    method: 'POST',
    path: '/_session',
    body: { name, password: `${name}-password` },
  })
  assert.equal(reply.status, 200, reply.body)
  return reply.header('set-cookie')?.split(';')[0] ?? ''
}

/** Whether the cookie or the password of a request is accepted. */
const isAccepted = async ({ document }: Server, request: { headers?: Record<string, string>; as?: string }) => {
  const reply = await send(document, { path: '/_session', ...request })
  return reply.status === 200 && reply.json.userCtx.name !== null
}

test('after a failover that lost writes, a node that was away accepts nothing that was revoked since', async () => {
  const primary = await startPostgres({ hasStandbys: true })
  scope.after(primary.stop)
  const standby = await primary.startStandby()
  scope.after(standby.stop)
  const place = await primary.createPlace()
  const newPlace = withPort(place, portOf(standby.addressOf('')))
  const findSequence = async (url: string) =>
    Number((await primary.execute(url, 'SELECT sequence FROM cardea_state').catch(() => []))[0]?.['sequence'])

  const [toA, toB] = [await createForwarder(scope, portOf(place)), await createForwarder(scope, portOf(place))]
  const a = await startServer(scope, { store: { url: withPort(place, toA.port) } })
  const b = await startServer(scope, { store: { url: withPort(place, toB.port) } })
  for (const name of ['ada', 'bob']) await create(b, name)
  const [ada, bob] = [await openSession(a, 'ada'), await openSession(a, 'bob')]
  const credentials = [{ headers: { Cookie: ada } }, { as: 'ada:ada-password' }, { headers: { Cookie: bob } }]
  await waitUntil(async () => (await findSequence(newPlace)) === (await findSequence(place)))
  await standby.detach()

  for (let number = 0; number < 7; number += 1) await create(b, `lost-${number}`)
  // before it writes, the node reads the changes of the other
  await create(a, 'lost-7')
  for (const credential of credentials) assert.equal(await isAccepted(a, credential), true)
  const lost = await findSequence(place)
  assert.ok(lost - (await findSequence(newPlace)) >= 8)

  toA.lead(undefined)
  toB.lead(undefined)
  await primary.crash()
  await standby.promote()
  toB.lead(portOf(newPlace))
  const disable = { method: 'PATCH', path: '/_api/user/ada', body: { active: false } }
  await waitUntil(() => isDone(b.multiModel, disable, 200))
  const signOut = { as: '', method: 'DELETE', path: '/_session', headers: { Cookie: bob } }
  await waitUntil(() => isDone(b.document, signOut, 200))
  for (let number = 0; number < 14; number += 1) await create(b, `new-${number}`)
  assert.ok((await findSequence(newPlace)) > lost)

  toA.lead(portOf(newPlace))
  // it knows the new history as soon as it can write
  await create(a, 'later')
  for (const credential of credentials) assert.equal(await isAccepted(a, credential), false, JSON.stringify(credential))
  assert.equal(await isAccepted(a, { as: 'bob:bob-password' }), true)
})
