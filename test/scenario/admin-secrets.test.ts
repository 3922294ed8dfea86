import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'

const FIRST = 'a-first-secret-of-the-token-folder'
const prefixOf = (secret: string): string => createHash('sha256').update(secret).digest('hex').slice(0, 12)

async function startWithFolder(scope: Scope, options: AnyOptions = {}) {
  const folder = makeFolder(scope)
  writeFileSync(join(folder, '1.key'), FIRST)
  const server = await startServer(scope, { server: { 'jwt-secret-folder': folder, 'jwt-secret': '' } }, options)
  const ask = (method: string, path: string, body?: unknown) =>
    send(server.document, { method, path: `/_cardea/api/secrets${path}`, as: AS_ADMIN, body })
  const rotate = (step: string, force = false) => ask('POST', '/rotation', { step, force })
  const token = async () => {
    const body = { username: 'admin', password: 'adminpw' }
    return (await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })).json.jwt
  }
  const verify = async (jwt: string) =>
    (await send(server.multiModel, { path: '/_api/version', as: `bearer ${jwt}` })).status
  return { folder, server, ask, rotate, token, verify }
}

test('lists secrets by hash prefix, with their files, and never a secret', async (t) => {
  const { ask, folder } = await startWithFolder(t)
  const { json, body } = await ask('GET', '')
  const [tokens, cookies] = json.rings
  const [key] = tokens.keys
  assert.equal(tokens.option, 'server.jwt-secret-folder')
  assert.deepEqual([tokens.source, tokens.reloadable, tokens.problem], [folder, true, null])
  assert.deepEqual([key.hashPrefix, key.isActive, key.algorithm, key.file], [prefixOf(FIRST), true, 'HS256', '1.key'])
  assert.ok(key.ageSeconds < 60)
  assert.equal(cookies.option, 'chttpd_auth.secret')
  assert.equal(cookies.keys[0].isActive, true)
  assert.deepEqual(json.rotation, { next: 'add' })
  assert.doesNotMatch(body, /first-secret|test-cookie-secret/)
})

test('rotates in the safe order, and no valid token is rejected before the last step', async (t) => {
  const { rotate, token, verify, ask, folder, server } = await startWithFolder(t)
  const old = await token()
  assert.equal((await rotate('activate')).status, 409)

  const added = (await rotate('add')).json
  assert.deepEqual([added.done.kind, added.rotation.next], ['added', 'activate'])
  assert.equal((await rotate('add')).status, 409)
  assert.equal((await ask('GET', '')).json.rings[0].keys[0].hashPrefix, prefixOf(FIRST))

  const activated = (await rotate('activate')).json
  assert.deepEqual([activated.done.kind, activated.rotation.next], ['activated', 'retire'])
  const fresh = await token()
  assert.deepEqual([await verify(old), await verify(fresh)], [200, 200])

  const waiting = (await rotate('retire')).json
  assert.equal(waiting.done.kind, 'waiting')
  assert.equal(waiting.done.until, waiting.rotation.until)
  assert.equal(await verify(old), 200)

  server.takeEvents()
  assert.equal((await rotate('retire', true)).json.done.kind, 'removed')
  assert.deepEqual([await verify(old), await verify(fresh)], [401, 200])
  assert.equal(readdirSync(folder).length, 1)
  const events = server.takeEvents().map(({ event, step, file }) => [event, step, file])
  const ofSecrets = events.filter(([event]) => String(event).startsWith('secrets.'))
  assert.deepEqual(ofSecrets, [
    ['secrets.rotated', 'removed', '1.key'],
    ['secrets.reloaded', undefined, undefined],
  ])
})

test('records a step that is said to be taken at the control socket only', async (t) => {
  const { ask, server } = await startWithFolder(t)
  const { status } = await ask('POST', '/rotation/record', { step: 'removed', file: '1.key' })
  assert.equal(status, 403)
  assert.equal(
    server.takeEvents().some(({ event }) => event === 'secrets.rotated'),
    false,
  )
})

test('takes no step where the secrets are not in a folder', async (t) => {
  const { document: url } = await startServer(t)
  const request = { path: '/_cardea/api/secrets', as: AS_ADMIN }
  assert.match((await send(url, request)).json.rotation.problem, /server.jwt-secret-folder/)
  const { status, json } = await send(url, {
    ...request,
    path: `${request.path}/rotation`,
    method: 'POST',
    body: { step: 'add' },
  })
  assert.deepEqual([status, json.error], [409, 'conflict'])
})

test('takes no step while another node has other secrets', async (t) => {
  const url = `sqlite:${makeFolder(t)}/cardea.db`
  const { rotate } = await startWithFolder(t, { store: { url } })
  const store = await openStore(url, { log: SILENT_LOG })
  t.after(() => store.close())
  const state = { version: '1', startedAt: 1, lagMs: 0, keysHash: 'other', problems: [] }
  const seenAt = Math.floor(Date.now() / 1000)
  await store.putNode({ instance: 'x', name: 'other@node', seenAt, state })
  const { status, json } = await rotate('add')
  assert.equal(status, 409)
  assert.match(json.reason, /other@node runs with other secrets/)
  await store.putNode({ instance: 'x', name: 'other@node', seenAt: seenAt - 61, state })
  assert.equal((await rotate('add')).status, 200)
})

test('reloads the files, and reports a secret that cannot be used', async (t) => {
  const { ask, folder } = await startWithFolder(t, { server: { 'jwt-secret-watch': false } })
  writeFileSync(join(folder, '0.key'), 'another-secret-of-the-token-folder')
  assert.deepEqual((await ask('POST', '/reload')).json.reloaded, [
    { option: 'server.jwt-secret-folder', problem: null },
  ])
  const { keys } = (await ask('GET', '')).json.rings[0]
  assert.deepEqual(
    keys.map(({ hashPrefix }: { hashPrefix: string }) => hashPrefix),
    [prefixOf('another-secret-of-the-token-folder'), prefixOf(FIRST)],
  )
  writeFileSync(join(folder, '0.key'), '')
  assert.match((await ask('POST', '/reload')).json.reloaded[0].problem, /0\.key/)
  assert.match((await ask('GET', '')).json.rings[0].problem, /0\.key/)
})

test('replaces the cookie secret by a random one that is never shown', async (t) => {
  const { document: url } = await startServer(t, { chttpd_auth: { secret: undefined } })
  const ask = (method: string, path: string, body?: unknown) =>
    send(url, { method, path: `/_cardea/api/secrets${path}`, as: AS_ADMIN, body })
  const [before] = (await ask('GET', '')).json.rings.at(-1).keys
  const { json } = await ask('POST', '/replacement', {})
  assert.deepEqual([json.name, json.value], ['chttpd_auth.secret', '***'])
  const ring = (await ask('GET', '')).json.rings.at(-1)
  assert.equal(ring.source, 'run time')
  assert.deepEqual([ring.keys.length, ring.keys[1].hashPrefix], [2, before.hashPrefix])
  assert.ok(ring.keys[0].ageSeconds < 60)
  await ask('POST', '/replacement', { now: true })
  assert.equal((await ask('GET', '')).json.rings.at(-1).keys.length, 1)
})
