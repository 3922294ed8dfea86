import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'

const run = promisify(execFile)
/** Without the configuration that the user of this machine may have. */
const PLAIN = ['-q', '-sS', '--noproxy', '*', '--max-time', '20']
const scope = createSharedScope()
const folder = makeFolder(scope)
const jar = join(folder, 'jar')

let url = ''
before(async () => {
  await run('curl', ['--version']).catch(() => assert.fail('curl is needed on the PATH for this test'))
  url = (await startServer(scope)).document
})

/** Returns the body. Reads and writes the cookie jar. */
async function curl(path: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', [...PLAIN, '-b', jar, '-c', jar, ...args, `${url}${path}`])
  return stdout
}

const askName = async (): Promise<string | null> => JSON.parse(await curl('/_session')).userCtx.name
const keptLine = (): string =>
  readFileSync(jar, 'utf8')
    .split('\n')
    .find((line) => line.includes('AuthSession')) ?? ''

test('a cookie jar stores the cookie for this host and HTTP only, sends it, and deletes a token', async () => {
  assert.equal(await askName(), null)
  assert.equal(
    await curl('/_session', '-d', 'name=admin&password=adminpw'),
    '{"ok":true,"name":"admin","roles":["_admin"]}\n',
  )
  const [host, , path, isSecure, expires, name] = keptLine().replace('#HttpOnly_', '').split('\t')
  assert.deepEqual([host, path, isSecure, name], ['127.0.0.1', '/', 'FALSE', 'AuthSession'])
  assert.match(keptLine(), /^#HttpOnly_/)
  assert.ok(Math.abs(Number(expires) - Date.now() / 1000 - 600) < 30, 'for as long as the session')
  assert.equal(await askName(), 'admin')
  assert.match(await curl('/_all_dbs'), /_users/)

  const kept = keptLine().split('\t')[6] ?? ''
  assert.equal(await curl('/_session', '-X', 'DELETE'), '{"ok":true}\n')
  assert.equal(await askName(), null)
  const { stdout } = await run('curl', [...PLAIN, '-b', `AuthSession=${kept}`, `${url}/_session`])
  assert.equal(JSON.parse(stdout).userCtx.name, null, 'not even with the cookie that was kept')
})

test('a failed sign-in deletes the cookie', async () => {
  await curl('/_session', '-d', 'name=admin&password=adminpw')
  await curl('/_session', '-d', 'name=admin&password=wrong')
  assert.equal(await askName(), null)
})

test('a sign-in is redirected', async () => {
  const args = ['-L', '--post302', '-o', '/dev/null', '-w', '%{url_effective}', '-H', 'Content-Type: application/json']
  const shown = await curl('/_session?next=/_session', ...args, '-d', '{"name":"admin","password":"adminpw"}')
  assert.equal(shown, `${url}/_session`)
})

const UPLOAD_BYTES = 3_000_000
/** What CouchDB 3.5 sends before it reads a body that was announced with `Expect`. */
const COUCHDB_INTERIM = 'HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n'
const CREATED = 'HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n{"ok":true}\n'

/** Reads one request after another as CouchDB does, and counts the bytes of their bodies. */
async function openCouchdb(scope: { after(work: () => unknown): void }) {
  const counted = { bytes: 0 }
  const server = createServer((socket) => {
    let head: string | undefined
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        const end = head === undefined ? chunk.indexOf('\r\n\r\n') : 0
        if (head === undefined) {
          head = chunk.toString('latin1', 0, end)
          if (/^expect:/im.test(head)) socket.write(COUCHDB_INTERIM)
          counted.bytes -= end + 4
        }
        counted.bytes += chunk.length
        if (counted.bytes >= UPLOAD_BYTES) socket.write(CREATED)
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counted }
}

test('curl -T uploads a file of 3 MB through the gateway with Expect: 100-continue', async (t) => {
  const backend = await openCouchdb(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const file = join(folder, 'upload')
  writeFileSync(file, Buffer.alloc(UPLOAD_BYTES, 'a'))
  const args = [...PLAIN, '-v', '-u', 'admin:adminpw', '-T', file, `${front.document}/db/doc/file`]
  const { stdout, stderr } = await run('curl', args)
  assert.equal(stdout, '{"ok":true}\n')
  assert.equal(backend.counted.bytes, UPLOAD_BYTES)
  assert.match(stderr, /^> Expect: 100-continue\r?$/m)
  assert.match(stderr, /^< HTTP\/1.1 100 Continue\r?\n[\s\S]*^< HTTP\/1.1 201 Created\r?$/m)
})
