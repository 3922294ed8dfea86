import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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
  return { folder, server, ask }
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
  assert.doesNotMatch(body, /first-secret|test-cookie-secret/)
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
