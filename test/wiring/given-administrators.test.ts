// Administrators given by flags, environment or options of a program: their current value counts, as in files.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Cardea, createCardea, createTestCardea, StartError } from '../../src/index.ts'
import { makeFolder } from '../support/scope.ts'

const ROOT = ['admin', 'adminpw'] as const

/** Programs that start one after the other with the same store. */
function openStarts(t: TestContext) {
  const store = { url: `sqlite:${join(makeFolder(t), 'store.db')}` }
  let running: Cardea | undefined
  t.after(() => running?.close())
  return async (admins: Record<string, string>, env: Record<string, string> = {}) => {
    await running?.close()
    running = undefined
    running = await createTestCardea({ options: { store, admins }, env })
    const { document } = await running.listen()
    return { cardea: running, config: `${document[0]}/_node/_local/_config/admins` }
  }
}

const verify = async (cardea: Cardea, name: string, ...passwords: string[]): Promise<boolean[]> =>
  Promise.all(passwords.map(async (password) => (await cardea.users.verifyPassword(name, password)) !== undefined))

const change = (config: string, method: string, name: string, password?: string) =>
  fetch(`${config}/${name}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(ROOT.join(':')).toString('base64')}` },
    body: password === undefined ? null : JSON.stringify(password),
  })

test('another password takes effect, and a removed administrator cannot sign in', async (t) => {
  const start = openStarts(t)
  const first = await start({ ada: 'one' })
  assert.deepEqual(await verify(first.cardea, 'ada', 'one', 'two'), [true, false])
  const second = await start({ ada: 'two' })
  assert.deepEqual(await verify(second.cardea, 'ada', 'one', 'two'), [false, true])
  const third = await start({}, { CARDEA_ADMINS__ada: 'three' })
  assert.deepEqual(await verify(third.cardea, 'ada', 'two', 'three'), [false, true])
  const last = await start({})
  assert.deepEqual(await verify(last.cardea, 'ada', 'one', 'two', 'three'), [false, false, false])
})

test('without the only administrator there is no start', async (t) => {
  const store = { url: `sqlite:${join(makeFolder(t), 'store.db')}` }
  await (
    await createCardea({ options: { store, chttpd_auth: { iterations: 1 }, admins: { ada: 'long enough password' } } })
  ).close()
  await assert.rejects(createCardea({ options: { store, admins: {} } }), (error) => error instanceof StartError)
})

test('sessions outlive a start with the same password, and end with another', async (t) => {
  const start = openStarts(t)
  const { cardea } = await start({ ada: 'one' })
  const { cookie } = await cardea.sessions.create('ada')
  const request = new Request('http://localhost/', { headers: { cookie: cookie.split(';')[0] ?? '' } })
  const isLive = async (of: Cardea) => (await of.authenticate(request))?.name === 'ada'
  assert.ok(await isLive(cardea))
  assert.ok(await isLive((await start({ ada: 'one' })).cardea), 'the same password')
  assert.ok(!(await isLive((await start({ ada: 'two' })).cardea)), 'another password')
  assert.ok(!(await isLive((await start({ ada: 'one' })).cardea)), 'the first password again')
})

test('a change at run time counts until another password is given', async (t) => {
  const start = openStarts(t)
  const { config } = await start({ ada: 'one', bob: 'one' })
  assert.equal((await change(config, 'PUT', 'ada', 'changed')).status, 200)
  assert.equal((await change(config, 'DELETE', 'bob')).status, 200)
  const again = await start({ ada: 'one', bob: 'one' })
  assert.deepEqual(await verify(again.cardea, 'ada', 'one', 'changed'), [false, true])
  assert.deepEqual(await verify(again.cardea, 'bob', 'one'), [false])
  const last = await start({ ada: 'two', bob: 'two' })
  assert.deepEqual(await verify(last.cardea, 'ada', 'two', 'changed'), [true, false])
  assert.deepEqual(await verify(last.cardea, 'bob', 'two'), [true])
})

test('options of a program have precedence over the environment', async (t) => {
  const { cardea } = await openStarts(t)({ ada: 'option' }, { CARDEA_ADMINS__ada: 'variable' })
  assert.deepEqual(await verify(cardea, 'ada', 'option', 'variable'), [true, false])
})
