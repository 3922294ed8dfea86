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
  runUserRows,
} from '../../support/multi-model-users.ts'
import { ADMIN, AS_ADMIN, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { openBackend } from '../../support/upstream.ts'

const wrapped = (result: unknown) => ({ error: false, code: 200, result })
const DONE = { error: false, code: 200 }
const MODE = '/_admin/server/mode'
const mode = (value: string) => ({ mode: value, error: false, code: 200 })

describe('details of the users API', () => {
  runUserRows([
    {
      name: 'shows none for a collection of an unknown database',
      as: AS_ADMIN,
      path: '/_api/user/ann/database/no/c',
      expect: { status: 200, json: wrapped('none') },
    },
    {
      name: 'also for a user with a grant on the system database',
      as: AS_ADMIN,
      path: '/_api/user/max/database/no/c',
      expect: { status: 200, json: wrapped('none') },
    },
    {
      name: 'shows null if no configuration is stored',
      as: ANN,
      path: '/_api/user/ann/config',
      expect: { status: 200, json: wrapped(null) },
    },
    {
      name: 'PUT of an unknown user without a body',
      as: AS_ADMIN,
      method: 'PUT',
      path: '/_api/user/unknown',
      expect: { status: 404, json: NOT_FOUND },
    },
    {
      name: 'PATCH of an unknown user without a body',
      as: AS_ADMIN,
      method: 'PATCH',
      path: '/_api/user/unknown',
      expect: { status: 404, json: NOT_FOUND },
    },
    {
      name: 'PATCH of an unknown user by another user',
      as: ANN,
      method: 'PATCH',
      path: '/_api/user/unknown',
      expect: { status: 403, json: FORBIDDEN },
    },
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
  runUserRows(
    [
      {
        name: 'GET by an administrator',
        as: AS_ADMIN,
        path: '/_admin/auth/reload',
        expect: { status: 200, json: DONE },
      },
      {
        name: 'POST by an administrator',
        as: AS_ADMIN,
        method: 'POST',
        path: '/_admin/auth/reload',
        expect: { status: 200, json: DONE },
      },
      {
        name: 'by a user who may write the system database',
        as: MAX,
        method: 'POST',
        path: '/_admin/auth/reload',
        expect: { status: 200, json: DONE },
      },
      {
        name: 'by a superuser token',
        as: superuser(),
        method: 'POST',
        path: '/_admin/auth/reload',
        expect: { status: 200, json: DONE },
      },
      {
        name: 'by a user who may only read it',
        as: ROB,
        method: 'POST',
        path: '/_admin/auth/reload',
        expect: { status: 403, json: FORBIDDEN },
      },
    ],
    { isSeparate: true },
  )

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
  runUserRows(
    [
      { name: 'is off at first', as: ROB, path: MODE, expect: { status: 200, json: mode('default') } },
      {
        name: 'is set by an administrator',
        as: AS_ADMIN,
        method: 'PUT',
        path: MODE,
        body: { mode: 'readonly' },
        expect: { status: 200, json: mode('readonly') },
      },
      {
        name: 'is set by a user who may write the system database',
        as: MAX,
        method: 'PUT',
        path: MODE,
        body: { mode: 'readonly' },
        expect: { status: 200, json: mode('readonly') },
      },
      {
        name: 'is not set by another user',
        as: ROB,
        method: 'PUT',
        path: MODE,
        body: { mode: 'readonly' },
        expect: { status: 403, json: FORBIDDEN },
      },
      {
        name: 'rejects an unknown mode',
        as: AS_ADMIN,
        method: 'PUT',
        path: MODE,
        body: { mode: 'testi' },
        expect: { status: 400, json: refusal(400, 400, 'mode invalid') },
      },
      {
        name: 'rejects a mode that is not a string',
        as: AS_ADMIN,
        method: 'PUT',
        path: MODE,
        body: { mode: 1 },
        expect: { status: 400, json: refusal(400, 400, 'mode must be a string') },
      },
      {
        name: 'rejects a body that is not an object',
        as: AS_ADMIN,
        method: 'PUT',
        path: MODE,
        body: '"readonly"',
        expect: { status: 400, json: refusal(400, 400, 'body must be an object') },
      },
    ],
    { isSeparate: true },
  )

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
