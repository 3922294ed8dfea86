// Two nodes on one PostgreSQL: each sees what the other writes.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { connectPostgres } from '../../store/postgres-server.ts'
import { ADMIN, send } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { idOf, pathOf } from './users-server.ts'

const postgres = await connectPostgres()
const scope = createSharedScope()
const options = { store: { url: await postgres.createPlace() } }
const nodes = [await startServer(scope, options), await startServer(scope, options)]
scope.after(() => postgres.stop())

const urlOf = (index: number): string => nodes[index]?.document ?? ''

const put = (index: number, name: string, members: object = {}) =>
  send(urlOf(index), {
    method: 'PUT',
    path: pathOf(name),
    headers: { ...ADMIN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, type: 'user', roles: [], ...members }),
  })

/** The first chunk of a continuous feed. */
function firstOf(index: number, whenOpen: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const path = '/_users/_changes?feed=continuous&since=now&heartbeat=60000'
    const sent = request(`${urlOf(index)}${path}`, { headers: ADMIN, agent: false }, (response) => {
      whenOpen()
      response.once('data', (chunk) => {
        resolve(String(chunk))
        sent.destroy()
      })
    })
    sent.on('error', reject).end()
  })
}

test('a document written at one node is read, and conflicts, at the other', async () => {
  const { rev } = JSON.parse((await put(0, 'ada')).body)
  const { body } = await send(urlOf(1), { path: pathOf('ada'), headers: ADMIN })
  assert.equal(JSON.parse(body)._rev, rev)
  assert.equal((await put(1, 'ada')).status, 409)
  const outcomes = await Promise.all([put(0, 'ada', { _rev: rev, a: 1 }), put(1, 'ada', { _rev: rev, a: 2 })])
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), [201, 409])
})

test('a feed at one node shows the changes made at the other', async () => {
  const { promise: isOpen, resolve: open } = Promise.withResolvers<void>()
  const found = firstOf(1, open)
  await isOpen
  await put(0, 'bob')
  assert.match(await found, new RegExp(idOf('bob')))
})

test('both nodes list the same changes with the same sequences', async () => {
  const [first, second] = await Promise.all(
    [0, 1].map((index) => send(urlOf(index), { path: '/_users/_changes', headers: ADMIN })),
  )
  assert.deepEqual(JSON.parse(first?.body ?? '').results, JSON.parse(second?.body ?? '').results)
})
