// Answers of the real server in small matters that tools look at.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { member, openMultiModel, superuser } from '../../support/multi-model.ts'
import {
  ANN,
  FORBIDDEN,
  MAX,
  NOT_FOUND,
  openWithUsers,
  ROB,
  refusal,
  runRows,
} from '../../support/multi-model-users.ts'
import { ADMIN, AS_ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { openBackend } from '../../support/upstream.ts'

const wrapped = (result: unknown) => ({ error: false, code: 200, result })
const DONE = { error: false, code: 200 }
const MODE = '/_admin/server/mode'
const mode = (value: string) => ({ mode: value, error: false, code: 200 })

describe('details of the users API', () => {
  runRows([
    [
      'shows none for a collection of an unknown database',
      'GET',
      '/_api/user/ann/database/no/c',
      { as: AS_ADMIN },
      200,
      wrapped('none'),
    ],
    [
      'also for a user with a grant on the system database',
      'GET',
      '/_api/user/max/database/no/c',
      { as: AS_ADMIN },
      200,
      wrapped('none'),
    ],
    ['shows null if no configuration is stored', 'GET', '/_api/user/ann/config', { as: ANN }, 200, wrapped(null)],
    ['PUT of an unknown user without a body', 'PUT', '/_api/user/unknown', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['PATCH of an unknown user without a body', 'PATCH', '/_api/user/unknown', { as: AS_ADMIN }, 404, NOT_FOUND],
    ['PATCH of an unknown user by another user', 'PATCH', '/_api/user/unknown', { as: ANN }, 403, FORBIDDEN],
  ])

  it('full=true lists databases without a grant as undefined', async (t) => {
    const { ask } = await openWithUsers(t)
    const { json } = await ask('GET', '/_api/user/ann/database?full=true', { as: ANN })
    assert.deepEqual(member(member(json, 'result'), '*'), { permission: 'none' })
  })

  it('the status contains the process id', async (t) => {
    const { ask } = await openWithUsers(t)
    const { json } = await ask('GET', '/_admin/status', { as: AS_ADMIN })
    assert.equal(member(json, 'pid'), process.pid)
  })
})

describe('/_admin/auth/reload', () => {
  runRows([
    ['GET by an administrator', 'GET', '/_admin/auth/reload', { as: AS_ADMIN }, 200, DONE],
    ['POST by an administrator', 'POST', '/_admin/auth/reload', { as: AS_ADMIN }, 200, DONE],
    ['by a user who may write the system database', 'POST', '/_admin/auth/reload', { as: MAX }, 200, DONE],
    ['by a superuser token', 'POST', '/_admin/auth/reload', { as: superuser() }, 200, DONE],
    ['by a user who may only read it', 'POST', '/_admin/auth/reload', { as: ROB }, 403, FORBIDDEN],
  ])

  it('is never forwarded', async (t) => {
    const backend = await openBackend(t)
    const { multiModel } = await startServer(t, {
      upstream: { 'multi-model': backend.url, 'multi-model-identity': 'client' },
    })
    const { status } = await send(multiModel, { method: 'POST', path: '/_admin/auth/reload', headers: ADMIN })
    assert.equal(status, 200)
    assert.equal(backend.seen.length, 0)
  })
})

describe('read-only mode without an upstream', () => {
  runRows([
    ['is off at first', 'GET', MODE, { as: ROB }, 200, mode('default')],
    ['is set by an administrator', 'PUT', MODE, { as: AS_ADMIN, body: { mode: 'readonly' } }, 200, mode('readonly')],
    [
      'is set by a user who may write the system database',
      'PUT',
      MODE,
      { as: MAX, body: { mode: 'readonly' } },
      200,
      mode('readonly'),
    ],
    ['is not set by another user', 'PUT', MODE, { as: ROB, body: { mode: 'readonly' } }, 403, FORBIDDEN],
    [
      'rejects an unknown mode',
      'PUT',
      MODE,
      { as: AS_ADMIN, body: { mode: 'testi' } },
      400,
      refusal(400, 400, 'mode invalid'),
    ],
    [
      'rejects a mode that is not a string',
      'PUT',
      MODE,
      { as: AS_ADMIN, body: { mode: 1 } },
      400,
      refusal(400, 400, 'mode must be a string'),
    ],
    [
      'rejects a body that is not an object',
      'PUT',
      MODE,
      { as: AS_ADMIN, body: '"readonly"' },
      400,
      refusal(400, 400, 'body must be an object'),
    ],
  ])

  it('caps the shown levels, except with configured=true', async (t) => {
    const { ask } = await openWithUsers(t)
    await ask('PUT', MODE, { as: AS_ADMIN, body: { mode: 'readonly' } })
    const level = async (path: string) =>
      member((await ask('GET', `/_api/user/max/database${path}`, { as: AS_ADMIN })).json, 'result')
    assert.equal(await level('/_system'), 'ro')
    assert.equal(await level('/_system?configured=true'), 'rw')
    assert.equal(await level('/_system/orders'), 'ro')
    assert.equal(await level('/_system/orders?configured=true'), 'rw')
    assert.deepEqual(await level(''), { _system: 'ro' })
  })

  it('is shown in availability and status, and can be ended', async (t) => {
    const { ask } = await openWithUsers(t)
    await ask('PUT', MODE, { as: MAX, body: { mode: 'readonly' } })
    assert.deepEqual((await ask('GET', '/_admin/server/availability')).json, mode('readonly'))
    const { json } = await ask('GET', '/_admin/status', { as: AS_ADMIN })
    assert.equal(member(member(json, 'serverInfo'), 'readOnly'), true)
    assert.equal(member(member(json, 'serverInfo'), 'writeOpsEnabled'), false)
    assert.deepEqual((await ask('PUT', MODE, { as: MAX, body: { mode: 'default' } })).json, mode('default'))
  })

  it('is not set by an anonymous request with authentication off', async (t) => {
    const { ask } = await openMultiModel(t, { server: { authentication: false } })
    assert.equal((await ask('PUT', MODE, { body: { mode: 'readonly' } })).status, 403)
    assert.deepEqual((await ask('GET', MODE, {})).json, mode('default'))
    assert.equal((await ask('PUT', MODE, { as: AS_ADMIN, body: { mode: 'readonly' } })).status, 200)
  })
})
