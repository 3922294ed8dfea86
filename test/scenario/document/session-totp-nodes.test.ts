// A one-time code works once for all nodes, also after restarts and outages.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readTotp, renderCode } from '../../../src/directory/second-factor/totp.ts'
import { type PostgresServer, startPostgres } from '../../store/postgres-server.ts'
import { ADMIN, send } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { type Server, startServer } from '../../support/server.ts'
import { pathOf } from './users-server.ts'

const MEMBER = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', algorithm: 'sha', length: 6 }
const JSON_BODY = { 'Content-Type': 'application/json' }

const scope = createSharedScope()
after(() => postgres.stop())

let postgres: PostgresServer
let storeUrl: string
let first: Server
let second: Server

const startNode = () => startServer(scope, { store: { url: storeUrl } })

before(async () => {
  postgres = await startPostgres()
  storeUrl = await postgres.createPlace()
  first = await startNode()
  second = await startNode()
  for (const name of ['ada', 'bob', 'eve', 'zoe']) {
    const body = JSON.stringify({ name, type: 'user', roles: [], password: 'pw', totp: MEMBER })
    const made = await send(first.document, {
      method: 'PUT',
      path: pathOf(name),
      headers: { ...ADMIN, ...JSON_BODY },
      body,
    })
    assert.equal(made.status, 201, made.body)
  }
})

/** The code of the current time step or a later one. */
const codeOf = (later = 0): string =>
  renderCode(readTotp(MEMBER) ?? assert.fail(), Math.floor(Date.now() / 30_000) + later)

async function signIn({ document }: Server, name: string, token: string): Promise<number> {
  const body = JSON.stringify({ name, password: 'pw', token })
  return (await send(document, { method: 'POST', path: '/_session', headers: JSON_BODY, body })).status
}

async function openAuth({ multiModel }: Server, username: string, token: string): Promise<number> {
  const body = JSON.stringify({ username, password: 'pw', token })
  return (await send(multiModel, { method: 'POST', path: '/_open/auth', headers: JSON_BODY, body })).status
}

test('a code used at one node is rejected at the other, at both doors', async () => {
  const code = codeOf()
  assert.equal(await signIn(first, 'ada', code), 200)
  assert.equal(await signIn(second, 'ada', code), 401)
  assert.equal(await openAuth(second, 'ada', code), 401)
  assert.equal(await signIn(second, 'ada', codeOf(1)), 200)
})

test('the same code sent to both nodes at once is accepted once', async () => {
  const code = codeOf()
  const statuses = await Promise.all([signIn(first, 'bob', code), signIn(second, 'bob', code)])
  assert.deepEqual(statuses.sort(), [200, 401])
})

test('a code used before a restart is rejected after it', async () => {
  const code = codeOf()
  assert.equal(await signIn(first, 'eve', code), 200)
  await first.cardea.close()
  first = await startNode()
  assert.equal(await signIn(first, 'eve', code), 401)
})

test('while the store cannot be reached, a code is rejected with 503 and stays unused', async () => {
  assert.equal(await signIn(first, 'zoe', codeOf()), 200)
  const next = codeOf(1)
  await postgres.crash()
  try {
    assert.equal(await signIn(first, 'zoe', next), 503)
    assert.equal(await openAuth(first, 'zoe', next), 503)
  } finally {
    await postgres.restart()
  }
  assert.equal(await signIn(first, 'zoe', next), 200)
})
