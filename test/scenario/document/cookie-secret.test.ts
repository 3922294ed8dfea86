import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Cardea, createCardea } from '../../../src/index.ts'
import { ADMIN, send } from '../../support/request.ts'

const folder = await mkdtemp(join(tmpdir(), 'cardea-secret-'))
after(() => rm(folder, { recursive: true }))

/** Starts without a secret, on a store file that survives restarts. */
async function start(file: string) {
  const cardea = await createCardea({
    options: {
      store: { url: `sqlite:${join(folder, file)}` },
      chttpd: { port: 0 },
      server: { endpoint: 'none' },
      chttpd_auth: { iterations: 1 },
      auth: { 'min-password-length': 0 },
      admins: { admin: 'adminpw' },
    },
  })
  return { cardea, ...speakWith((await cardea.listen()).document[0] ?? '') }
}

function speakWith(url: string) {
  const config = (method: string, key: string, body?: string) =>
    send(url, { method, path: `/_node/_local/_config/${key}`, headers: ADMIN, ...(body === undefined ? {} : { body }) })
  return {
    config,
    async begin(): Promise<string> {
      const headers = { 'Content-Type': 'application/json' }
      const answer = await send(url, { method: 'POST', path: '/_session', headers, body: SIGN_IN })
      return /^AuthSession=([^;]+)/.exec(answer.lines['set-cookie']?.[0] ?? '')?.[1] ?? assert.fail(answer.body)
    },
    async askName(cookie: string): Promise<string | null> {
      const answer = await send(url, { path: '/_session', headers: { Cookie: `AuthSession=${cookie}` } })
      return JSON.parse(answer.body).userCtx.name
    },
    end: (cookie: string) =>
      send(url, { method: 'DELETE', path: '/_session', headers: { Cookie: `AuthSession=${cookie}` } }),
  }
}

const SIGN_IN = JSON.stringify({ name: 'admin', password: 'adminpw' })

async function withServer(file: string, work: (server: Awaited<ReturnType<typeof start>>) => Promise<void>) {
  const server = await start(file)
  try {
    await work(server)
  } finally {
    await close(server.cardea)
  }
}

const close = (cardea: Cardea) => cardea.close()

test('a generated secret survives a restart and is never shown', async () => {
  let cookie = ''
  await withServer('kept.db', async ({ begin, config }) => {
    cookie = await begin()
    assert.equal((await config('GET', 'chttpd_auth/secret')).body, '"***"\n')
  })
  await withServer('kept.db', async ({ askName }) => assert.equal(await askName(cookie), 'admin'))
})

test('a session ended before a restart stays ended', async () => {
  let cookie = ''
  await withServer('ended.db', async ({ begin, end }) => {
    cookie = await begin()
    await end(cookie)
  })
  await withServer('ended.db', async ({ askName }) => assert.equal(await askName(cookie), null))
})

test('a new secret signs from now on, and cookies signed with the old one still work', async () => {
  await withServer('rotated.db', async ({ begin, askName, config }) => {
    const before = await begin()
    assert.equal((await config('PUT', 'chttpd_auth/secret', '"another-secret-altogether"')).status, 200)
    const after = await begin()
    assert.deepEqual([await askName(before), await askName(after)], ['admin', 'admin'])
  })
})

test('replacing the secret with ?grace=0 revokes earlier cookies at once, also a second time', async () => {
  await withServer('leaked.db', async ({ begin, askName, config }) => {
    const first = await begin()
    await config('PUT', 'chttpd_auth/secret', '"another-secret-altogether"')
    assert.equal(await askName(first), 'admin')
    assert.equal((await config('PUT', 'chttpd_auth/secret?grace=0', '"another-secret-altogether"')).status, 200)
    assert.equal(await askName(first), null)
    const second = await begin()
    assert.equal((await config('PUT', 'chttpd_auth/secret?grace=0', '"a-third-secret-altogether"')).status, 200)
    assert.deepEqual([await askName(second), await askName(await begin())], [null, 'admin'])
    assert.ok(!(await config('GET', '')).body.includes('[chttpd_auth]'), 'the note is not a setting')
  })
})

test('grace accepts only 0, and only for the secret', async () => {
  await withServer('grace.db', async ({ config }) => {
    for (const path of ['chttpd_auth/secret?grace=60', 'chttpd_auth/secret?grace=', 'chttpd_auth/timeout?grace=0'])
      assert.equal((await config('PUT', path, '"700-and-some-more-characters"')).status, 400, path)
    assert.equal((await config('DELETE', 'chttpd_auth/secret?grace=0')).status, 400)
  })
})

test('a deleted secret is replaced by a generated one', async () => {
  await withServer('gone.db', async ({ begin, askName, config }) => {
    await config('PUT', 'chttpd_auth/secret', '"another-secret-altogether"')
    const before = await begin()
    assert.equal((await config('DELETE', 'chttpd_auth/secret')).status, 200)
    const after = await begin()
    assert.deepEqual([await askName(before), await askName(after)], ['admin', 'admin'])
    assert.equal((await config('GET', 'chttpd_auth/secret')).body, '"***"\n')
  })
})

test('changing the timeout or the first algorithm ends no session', async () => {
  await withServer('options.db', async ({ begin, askName, config }) => {
    const first = await begin()
    await config('PUT', 'chttpd_auth/timeout', '"3600"')
    const second = await begin()
    await config('PUT', 'chttpd_auth/hash_algorithms', '"sha512, sha256"')
    const third = await begin()
    await config('PUT', 'chttpd_auth/timeout', '"60"')
    for (const cookie of [first, second, third]) assert.equal(await askName(cookie), 'admin')
    await config('PUT', 'chttpd_auth/hash_algorithms', '"sha512"')
    assert.deepEqual([await askName(second), await askName(third)], [null, 'admin'], 'only what is listed decodes')
  })
})

test('changing the password of an administrator ends its sessions, setting the same one does not', async () => {
  await withServer('admins.db', async ({ begin, askName, config }) => {
    const cookie = await begin()
    assert.equal((await config('PUT', 'admins/admin', '"adminpw"')).status, 200)
    assert.equal(await askName(cookie), 'admin')
    assert.equal((await config('PUT', 'admins/admin', '"another"')).status, 200)
    assert.equal(await askName(cookie), null)
  })
})
