// Cookies made before `timeout` was changed are accepted at every node, also after a restart.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSqlitePlace } from '../../store/places.ts'
import { connectPostgres } from '../../store/postgres-server.ts'
import { createBrowser } from '../../support/browser.ts'
import { AS_ADMIN, send } from '../../support/request.ts'
import { type AnyOptions, type Server, startServer } from '../../support/server.ts'
import { waitUntil } from '../../support/wait.ts'

const DOCUMENT = 'chttpd_auth/timeout'
const CONSOLE = 'admin/session-timeout'

async function signIn({ document }: Server): Promise<string> {
  const body = { name: 'admin', password: 'adminpw' }
  const reply = await send(document, { method: 'POST', path: '/_session', body })
  return String(reply.headers['set-cookie']?.[0]).split(';')[0] ?? ''
}

const isAccepted = async ({ document }: Server, Cookie: string): Promise<boolean> =>
  (await send(document, { path: '/_session', headers: { Cookie } })).json.userCtx.name === 'admin'

async function set({ document }: Server, option: string, value: number): Promise<void> {
  const path = `/_node/_local/_config/${option}`
  const reply = await send(document, { method: 'PUT', path, as: AS_ADMIN, body: JSON.stringify(String(value)) })
  assert.equal(reply.status, 200, reply.body)
}

test('a cookie is accepted at all nodes after several changes of the timeout and restarts', async (t) => {
  const postgres = await connectPostgres()
  t.after(() => postgres.stop())
  const options = { store: { url: await postgres.createPlace() } }
  const [here, there] = [await startServer(t, options), await startServer(t, options)]
  const cookies = [await signIn(here)]
  for (const seconds of [1200, 900]) {
    await set(here, DOCUMENT, seconds)
    cookies.push(await signIn(here))
  }
  await waitUntil(async () => isAccepted(there, cookies.at(-1) ?? ''))
  await there.cardea.close()
  const restarted = await startServer(t, options)
  await here.cardea.close()
  const again = await startServer(t, options)
  for (const server of [restarted, again])
    for (const [index, cookie] of cookies.entries()) assert.equal(await isAccepted(server, cookie), true, `${index}`)
})

test('a lowered timeout counts for earlier cookies after a restart too', async (t) => {
  const place = await createSqlitePlace()
  t.after(() => place.remove())
  const start = (options: AnyOptions = {}) => startServer(t, { store: { url: place.url } }, options)
  const first = await start()
  const cookie = await signIn(first)
  await set(first, DOCUMENT, 1)
  await first.cardea.close()
  const second = await start()
  await waitUntil(async () => !(await isAccepted(second, cookie)))
})

test('a timeout that was changed in a file between two starts is known', async (t) => {
  const place = await createSqlitePlace()
  t.after(() => place.remove())
  const start = (seconds: number) => startServer(t, { store: { url: place.url }, chttpd_auth: { timeout: seconds } })
  const cookies: string[] = []
  for (const seconds of [600, 1200, 600, 900]) {
    const server = await start(seconds)
    cookies.push(await signIn(server))
    for (const [index, cookie] of cookies.entries()) assert.equal(await isAccepted(server, cookie), true, `${index}`)
    await server.cardea.close()
  }
})

test('a session of the console outlives a change of its timeout and a restart', async (t) => {
  const place = await createSqlitePlace()
  t.after(() => place.remove())
  const options = { store: { url: place.url } }
  const first = await startServer(t, options)
  const browser = createBrowser(first.document)
  await browser.signIn('admin', 'adminpw')
  await set(first, CONSOLE, 4000)
  await first.cardea.close()
  const again = createBrowser((await startServer(t, options)).document)
  again.cookie = browser.cookie
  assert.equal((await again.ask('/session')).json.name, 'admin')
})
