// What changes while streams are open and requests go on: keys, secrets of the servers behind, where they are.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { CardeaOptions } from '../../../src/index.ts'
import { makeToken, now, superuser } from '../../support/multi-model.ts'
import { ADMIN, send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { type AnyOptions, startServerWithFiles } from '../../support/server.ts'
import {
  type Backend,
  MULTI_MODEL_SECRET,
  openBackend,
  openFeeds,
  openStream,
  openToken,
  UPSTREAM_SECRET,
} from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'

const FEED = '/db/_changes?feed=continuous'
const FIRST_KEY = 'a-key-that-will-be-taken-away-from-it'
const SECOND_KEY = 'a-key-that-will-stay-where-it-is-now'

type Sections = AnyOptions

const render = (sections: Sections): string =>
  Object.entries(sections)
    .map(([section, values]) =>
      [`[${section}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${value}`), ''].join('\n'),
    )
    .join('\n')

/** Cardea with a configuration file that can be replaced. */
async function openOnFile(t: TestContext, sections: Sections, options: CardeaOptions = {}) {
  const file = join(makeFolder(t), 'a.ini')
  const write = (next: Sections) => writeFileSync(file, render(next), { mode: 0o600 })
  write(sections)
  const { cardea, document, multiModel } = await startServerWithFiles(t, [file], options)
  const change = async (next: Sections) => {
    write(next)
    return cardea.reload()
  }
  return { cardea, change, document, multiModel }
}

const toDocument = (url: string, more: Sections[string] = {}): Sections[string] => ({
  document: url,
  'document-secret': UPSTREAM_SECRET,
  ...more,
})

const keys = (...named: readonly (readonly [kid: string, secret: string])[]): Sections[string] =>
  Object.fromEntries(named.map(([kid, secret]) => [`hmac:${kid}`, Buffer.from(secret).toString('base64')]))

const jwt = (kid: string, secret: string, seconds = 3600) => {
  const header = { alg: 'HS256', typ: 'JWT', kid }
  return { Authorization: `Bearer ${makeToken({ sub: 'ada', exp: now() + seconds }, { secret, header })}` }
}

test('removing a key cuts the streams its tokens opened, and no others', async (t) => {
  const upstream = toDocument((await openFeeds(t)).url)
  const both = { upstream, jwt_keys: keys(['first', FIRST_KEY], ['second', SECOND_KEY]) }
  const front = await openOnFile(t, both)
  const gone = await openStream(front.document, FEED, jwt('first', FIRST_KEY))
  const stays = await openStream(front.document, FEED, jwt('second', SECOND_KEY))
  const report = await front.change({ upstream, jwt_keys: keys(['second', SECOND_KEY]) })
  assert.equal(report.isApplied, true, String(report.problems))
  assert.equal(await gone.ended, 'broken')
  assert.ok(stays.isOpen())
  stays.close()
})

test('removing a secret cuts the streams of the multi-model door', async (t) => {
  const folder = makeFolder(t)
  const secrets = { '1': FIRST_KEY, '2': SECOND_KEY }
  for (const [name, text] of Object.entries(secrets)) writeFileSync(join(folder, name), text)
  const backend = await openFeeds(t)
  const upstream = { 'multi-model': backend.url, 'multi-model-identity': 'client' }
  const options = { server: { 'jwt-secret': '', 'jwt-secret-folder': folder } }
  const front = await openOnFile(t, { upstream }, options)
  const open = (secret: string) =>
    openStream(front.multiModel, '/_api/cursor', { Authorization: superuser({}, { secret }) })
  const [gone, stays] = [await open(SECOND_KEY), await open(FIRST_KEY)]
  rmSync(join(folder, '2'))
  assert.equal((await front.cardea.reload()).isApplied, true)
  assert.equal(await gone.ended, 'broken')
  assert.ok(stays.isOpen())
  stays.close()
})

test('an expired token cuts its stream at the document door', async (t) => {
  const upstream = toDocument((await openFeeds(t)).url)
  const front = await openOnFile(t, { upstream, jwt_keys: keys(['first', FIRST_KEY]) })
  const short = await openStream(front.document, FEED, jwt('first', FIRST_KEY, 2))
  const long = await openStream(front.document, FEED, jwt('first', FIRST_KEY))
  assert.equal(await short.ended, 'broken')
  assert.ok(long.isOpen())
  long.close()
})

const NEXT_SECRET = 'another-secret-of-the-multi-model-upstream'
const LAST_SECRET = 'the-last-secret-of-the-multi-model-upstream'

/** The secret that signed the last request. */
function findSigner({ seen }: Backend): string | undefined {
  return [MULTI_MODEL_SECRET, NEXT_SECRET, LAST_SECRET].find((secret) => {
    try {
      return openToken(seen.at(-1)?.header('authorization'), secret)
    } catch {
      return false
    }
  })
}

async function openOnFolder(t: TestContext) {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'b'), MULTI_MODEL_SECRET)
  const backend = await openBackend(t)
  const upstream = { 'multi-model': backend.url, 'multi-model-secret-folder': folder }
  const front = await openOnFile(t, { upstream })
  const sign = async () => {
    assert.equal((await send(front.multiModel, { path: '/_api/version', headers: ADMIN })).status, 200)
    return findSigner(backend)
  }
  return { ...front, folder, sign }
}

test('the folder with the secrets of the multi-model database is watched', async (t) => {
  const { folder, sign } = await openOnFolder(t)
  assert.equal(await sign(), MULTI_MODEL_SECRET)
  const follow = (secret: string) => waitUntil(async () => (await sign()) === secret)
  writeFileSync(join(folder, 'a'), NEXT_SECRET)
  await follow(NEXT_SECRET)
  // the look at the start may have found that one; the next is the watcher's alone
  writeFileSync(join(folder, '0'), LAST_SECRET)
  await follow(LAST_SECRET)
})

test('a reload reads the secrets again, or keeps them and reports why', async (t) => {
  const { cardea, folder, sign } = await openOnFolder(t)
  writeFileSync(join(folder, 'a'), NEXT_SECRET)
  assert.equal((await cardea.reload()).isApplied, true)
  assert.equal(await sign(), NEXT_SECRET)
  rmSync(join(folder, 'a'))
  rmSync(join(folder, 'b'))
  const report = await cardea.reload()
  assert.equal(report.isApplied, false)
  assert.match(report.problems.join(), /^upstream\.multi-model-secret-folder: /)
  assert.equal(await sign(), NEXT_SECRET)
})

test('a secret of Cardea is not accepted as that of the multi-model database', async (t) => {
  const { cardea, folder, sign } = await openOnFolder(t)
  writeFileSync(join(folder, 'a'), 'cardea-test-token-secret')
  const report = await cardea.reload()
  assert.match(report.problems.join(), /must be different/)
  assert.equal(await sign(), MULTI_MODEL_SECRET)
})

test('a changed upstream is used from the next request on, and running requests finish', async (t) => {
  const { promise: asked, resolve: tell } = Promise.withResolvers<() => void>()
  const first = await openBackend(t, (_request, response) => {
    response.writeHead(200).write('first,')
    tell(() => response.end('last'))
  })
  const second = await openBackend(t)
  const front = await openOnFile(t, { upstream: toDocument(first.url) })
  const slow = send(front.document, { path: '/db/slow', headers: ADMIN })
  const finish = await asked
  assert.equal((await front.change({ upstream: toDocument(second.url) })).isApplied, true)
  assert.equal((await send(front.document, { path: '/db/next', headers: ADMIN })).status, 200)
  assert.deepEqual([first.seen.length, second.seen[0]?.url], [1, '/db/next'])
  finish()
  assert.equal((await slow).body, 'first,last')
})

test('without an upstream the door responds itself again', async (t) => {
  const backend = await openBackend(t)
  const front = await openOnFile(t, { upstream: toDocument(backend.url) })
  const ask = async () => (await send(front.document, { path: '/_all_dbs', headers: ADMIN })).body
  assert.equal(await ask(), '{"ok":true}')
  // an empty file would be refused, as one that was cut off
  await front.change({ log: { level: 'warn' } })
  assert.match(await ask(), /^\[/)
  assert.equal(backend.seen.length, 1)
})

test('a changed secret, identity option or timeout applies from the next request on', async (t) => {
  const backend = await openBackend(t, (request, response) => {
    if (request.url !== '/db/never') response.end('{}')
  })
  const { url, seen } = backend
  const front = await openOnFile(t, { upstream: toDocument(url) })
  const ask = (path: string) => send(front.document, { path, headers: ADMIN })
  await ask('/db/1')
  openToken(seen.at(-1)?.header('authorization'), UPSTREAM_SECRET)
  await front.change({ upstream: toDocument(url, { 'document-secret': NEXT_SECRET }) })
  await ask('/db/2')
  openToken(seen.at(-1)?.header('authorization'), NEXT_SECRET)
  await front.change({ upstream: toDocument(url, { 'document-identity': 'proxy' }) })
  await ask('/db/3')
  const last = seen.at(-1)
  assert.deepEqual([last?.header('authorization'), last?.header('x-auth-couchdb-username')], [undefined, 'admin'])
  await front.change({ upstream: toDocument(url, { 'first-byte-timeout': 0.1 }) })
  assert.equal((await ask('/db/never')).status, 504)
})

test('streams opened by proxy headers are cut when the proxy is no longer trusted', async (t) => {
  const upstream = toDocument((await openFeeds(t)).url)
  const sections = (trusted_proxies: string) => ({
    upstream,
    chttpd: { trusted_proxies },
    chttpd_auth: { proxy_use_secret: false },
  })
  const front = await openOnFile(t, sections('127.0.0.1'))
  const stream = await openStream(front.document, FEED, { 'X-Auth-CouchDB-UserName': 'ada' })
  const other = await openStream(front.document, FEED, ADMIN)
  assert.equal((await front.change(sections('127.0.0.1, 10.0.0.2'))).isApplied, true)
  assert.ok(stream.isOpen())
  assert.equal((await front.change(sections('10.0.0.1'))).isApplied, true)
  assert.equal(await stream.ended, 'broken')
  assert.ok(other.isOpen())
  other.close()
})

// `undefined` takes away what tests have by default, which no file could change
const GIVES_NO_SECRET = { chttpd_auth: { secret: undefined } } as unknown as CardeaOptions

test('replacing a secret cuts the streams its cookies opened, after the grace period or at once', async (t) => {
  const upstream = toDocument((await openFeeds(t)).url)
  const front = await openOnFile(t, { upstream, chttpd_auth: { timeout: 6 } }, GIVES_NO_SECRET)
  const signIn = async () => {
    const body = JSON.stringify({ name: 'admin', password: 'adminpw' })
    const headers = { 'Content-Type': 'application/json' }
    const { lines } = await send(front.document, { method: 'POST', path: '/_session', headers, body })
    return { Cookie: lines['set-cookie']?.[0]?.split(';')[0] ?? '' }
  }
  const replace = async (key: string, value: string) => {
    const path = `/_node/_local/_config/chttpd_auth/${key}`
    assert.equal((await send(front.document, { method: 'PUT', path, headers: ADMIN, body: `"${value}"` })).status, 200)
  }
  const expiring = await openStream(front.document, FEED, await signIn())
  await replace('secret', FIRST_KEY)
  assert.equal(await expiring.ended, 'broken')
  await replace('timeout', '86400')
  const old = await openStream(front.document, FEED, await signIn())
  await replace('secret?grace=0', SECOND_KEY)
  const fresh = await openStream(front.document, FEED, await signIn())
  assert.equal(await old.ended, 'broken')
  assert.ok(fresh.isOpen())
  fresh.close()
})

test('replacing a secret cuts the streams its proxy tokens opened at once', async (t) => {
  const upstream = toDocument((await openFeeds(t)).url)
  const sections = (secret: string) => ({ upstream, chttpd_auth: { secret, timeout: 86_400 } })
  const front = await openOnFile(t, sections(FIRST_KEY), GIVES_NO_SECRET)
  const prove = (secret: string) => ({
    'X-Auth-CouchDB-UserName': 'ada',
    'X-Auth-CouchDB-Token': createHmac('sha256', secret).update('ada').digest('hex'),
  })
  const old = await openStream(front.document, FEED, prove(FIRST_KEY))
  assert.equal((await front.change(sections(SECOND_KEY))).isApplied, true)
  const fresh = await openStream(front.document, FEED, prove(SECOND_KEY))
  assert.equal(await old.ended, 'broken')
  assert.ok(fresh.isOpen())
  fresh.close()
})
