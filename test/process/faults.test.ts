// Limits of the process: open files, and the size of a file. docs/reference/faults.md has the same rows.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { ADMIN_PASSWORD, makeManaged, type Serving } from '../support/managed.ts'
import { BUNDLED, start } from '../support/process.ts'
import { basic, type Reply, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const AS_ADMIN = basic('admin', ADMIN_PASSWORD)
const PASSWORD = 'the password of a user'

/** Starts the server below a limit of the shell. */
async function serveBelow(scope: Scope, folder: string, limit: string): Promise<Serving> {
  const command = ['sh', '-c', `${limit}; exec "$0" "$@"`, process.execPath, BUNDLED]
  const server = start(scope, ['serve', '--config', folder], { command, cwd: folder })
  return { ...server, ...(await server.doors()) }
}

const putUser = (document: string, name: string, members = {}): Promise<Reply> =>
  send(document, {
    as: AS_ADMIN,
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}`,
    body: { name, password: PASSWORD, roles: [], type: 'user', ...members },
  })

const signsIn = async (document: string, name: string): Promise<boolean> =>
  (await send(document, { as: `${name}:${PASSWORD}`, path: '/_session' })).status === 200

test('a file may not grow: writes are 503, nothing acknowledged is lost, the log says what to do', async (t) => {
  const { folder, serve } = makeManaged(t)
  // 1 MB in blocks of 512 bytes; the signal of the limit would end the process
  const server = await serveBelow(t, folder, 'trap "" XFSZ; ulimit -f 2048')
  const created: string[] = []
  for (let status = 201; status === 201; ) {
    const name = `user-${created.length}`
    status = (await putUser(server.document, name, { padding: 'x'.repeat(50_000) })).status
    if (status === 201) created.push(name)
    else assert.equal(status, 503)
  }
  assert.ok(created.length > 2)
  assert.ok(await signsIn(server.document, 'user-0'))
  await server.says(/input or output error: check the disk, its quota, and whether it became read-only/)
  server.child.kill('SIGKILL')
  await server.ended
  const again = await serve()
  for (const name of created) assert.ok(await signsIn(again.document, name), name)
  assert.equal((await putUser(again.document, 'after')).status, 201)
})

/** As many as the server accepts. */
async function openSockets(url: string, count: number): Promise<readonly Socket[]> {
  const { port } = new URL(url)
  const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
  return sockets
}

const exchange = (socket: Socket, text: string): Promise<string> =>
  new Promise((resolve) => {
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
      if (received.includes('\r\n\r\n')) resolve(received)
    })
    socket.once('close', () => resolve(received)).write(text)
  })

test('no open files are left: open connections are served, new ones are closed, the start has warned', async (t) => {
  const { folder } = makeManaged(t)
  const server = await serveBelow(t, folder, 'ulimit -n 64')
  await server.says(/the limit of open files is 64.*raise the limit \(ulimit -n, or LimitNOFILE of systemd\)/)
  const [first = assert.fail('no connection')] = await openSockets(server.document, 1)
  const others = await openSockets(server.document, 100)
  const refused = send(server.document, { as: AS_ADMIN, path: '/_session' })
  await assert.rejects(refused, 'a connection above the limit gets no response')
  const body = JSON.stringify({ name: 'ada', password: PASSWORD, roles: [], type: 'user' })
  const head = `PUT /_users/org.couchdb.user:ada HTTP/1.1\r\nHost: a\r\nAuthorization: ${AS_ADMIN}\r\n`
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  assert.match(await exchange(first, `${head}${length}${body}`), /^HTTP\/1\.1 201 /)
  for (const socket of [first, ...others]) socket.destroy()
  await waitUntil(() => isServed(server.document)) // the server closes its ends of the connections one after another
  assert.ok(await signsIn(server.document, 'ada'))
})

const isServed = (document: string): Promise<boolean> =>
  send(document, { path: '/_session' }).then(
    () => true,
    () => false,
  )
