// The system clock jumps by a day and back. docs/reference/faults.md has the same rows.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AS_ADMIN, type Reply, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'

const DAY_MS = 86_400_000

/** Moves the clock of this process. */
function takeClock(t: TestContext) {
  const systemNow = Date.now
  let offsetMs = 0
  t.mock.method(Date, 'now', () => systemNow() + offsetMs)
  return {
    set(ms: number) {
      offsetMs = ms
    },
  }
}

const cookieOf = (reply: Reply): string => reply.headers['set-cookie']?.[0]?.split(';')[0] ?? ''

const signIn = async ({ document }: Server): Promise<string> =>
  cookieOf(await send(document, { method: 'POST', path: '/_session', body: { name: 'admin', password: 'adminpw' } }))

const signOut = ({ document }: Server, cookie: string): Promise<Reply> =>
  send(document, { method: 'DELETE', path: '/_session', headers: { Cookie: cookie } })

const findName = async ({ document }: Server, cookie: string): Promise<unknown> =>
  (await send(document, { path: '/_session', headers: { Cookie: cookie } })).json?.userCtx?.name

async function openToken({ multiModel }: Server): Promise<string> {
  const body = { username: 'admin', password: 'adminpw' }
  return (await send(multiModel, { method: 'POST', path: '/_open/auth', body })).json.jwt
}

const useToken = async ({ multiModel }: Server, token: string): Promise<number> =>
  (await send(multiModel, { as: `bearer ${token}`, path: '/_api/version' })).status

for (const [name, ms] of [
  ['forth', DAY_MS],
  ['back', -DAY_MS],
] as const)
  test(`a revoked session stays revoked while the clock jumps ${name} by a day and returns`, async (t) => {
    const clock = takeClock(t)
    const server = await startServer(t)
    const [live, revoked] = [await signIn(server), await signIn(server)]
    await signOut(server, revoked)
    const token = await openToken(server)
    clock.set(ms)
    // ends another session, so that records of expired ones are removed
    await signOut(server, await signIn(server))
    assert.notEqual(await findName(server, revoked), 'admin')
    clock.set(0)
    assert.notEqual(await findName(server, revoked), 'admin')
    assert.equal(await findName(server, live), 'admin', 'a live session works again')
    assert.equal(await useToken(server, token), 200)
  })

test('sessions and tokens have expired after a jump forward', async (t) => {
  const clock = takeClock(t)
  const server = await startServer(t)
  const [cookie, token] = [await signIn(server), await openToken(server)]
  clock.set(DAY_MS)
  assert.notEqual(await findName(server, cookie), 'admin')
  assert.equal(await useToken(server, token), 401)
  assert.equal(await findName(server, await signIn(server)), 'admin', 'a new sign-in works')
})

test('the age of the data does not follow the clock', async (t) => {
  const clock = takeClock(t)
  const server = await startServer(t)
  for (const ms of [DAY_MS, -DAY_MS]) {
    clock.set(ms)
    const { body } = await send(server.document, { as: AS_ADMIN, path: '/_cardea/metrics' })
    const [, age = ''] = /^cardea_store_staleness_seconds (\S+)$/m.exec(body) ?? []
    assert.ok(Number(age) > 0 && Number(age) < 60, `${age} s`)
  }
})
