/** The most that a password hash may cost: accounts stay usable, whatever the options were in between. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toFlags } from '../../src/config/flags.ts'
import { loadConfiguration } from '../../src/live-config/load.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { createBrowser, SCRIPT, tokenOf, withToken } from '../support/browser.ts'
import { buildConsole } from '../support/console.ts'
import { AS_ADMIN, createAsk } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

/** The options of the tests are flags, which have precedence; this server is to be configured over HTTP. */
const CHANGEABLE = { chttpd_auth: { iterations: undefined } }
const CONFIG = '/_node/_local/_config/chttpd_auth'

/** The setting that is refused, and those that are set before it. */
const REFUSED: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ['iterations', '6000001', {}],
  ['iterations', '60000000', {}],
  ['iterations', '1000000000', {}],
  ['iterations', '2100001', { pbkdf2_prf: 'sha512' }],
  ['pbkdf2_prf', 'sha512', { iterations: '2100001' }],
  ['min_iterations', '6000001', {}],
  ['min_iterations', '60000000', { max_iterations: '60000000' }],
]

buildConsole()
const { document } = await startServer(createSharedScope(), CHANGEABLE)
const ask = createAsk(document)
/** The password would be hashed again with every change of its cost. */
const headers = await signIn()

async function signIn() {
  const browser = createBrowser(document)
  await browser.signIn('admin', 'adminpw')
  const token = withToken(tokenOf(await browser.openPage()))
  const opened = await ask('POST', '/_session', { body: { name: 'admin', password: 'adminpw' } })
  return { ...SCRIPT, ...token, Cookie: `${browser.cookie}; ${opened.header('set-cookie')?.split(';')[0]}` }
}

for (const [key, value, before] of REFUSED) {
  const given = Object.entries(before).map(([name, text]) => `${name} = ${text}`)
  test(`${key} = ${value} is refused ${given.length > 0 ? `with ${given}` : 'over HTTP and in files'}`, async (t) => {
    for (const [name, text] of Object.entries(before)) {
      assert.equal((await ask('PUT', `${CONFIG}/${name}`, { headers, body: JSON.stringify(text) })).status, 200)
      t.after(() => ask('DELETE', `${CONFIG}/${name}`, { headers }))
    }
    const path = `/_cardea/api/settings/chttpd_auth/${key}`
    const preview = await ask('POST', `${path}/preview`, { headers, body: { value } })
    assert.equal(preview.status, 200, preview.body)
    assert.match(preview.json.problems.join(), /cost too much to verify: the limit is \d+$/)
    for (const [to, body] of [
      [`${CONFIG}/${key}`, JSON.stringify(value)],
      [path, { value }],
    ] as const) {
      const { status, body: text } = await ask('PUT', to, { headers, body })
      assert.equal(status, 400, text)
      assert.match(text, /cost too much to verify/)
    }
    const flags = toFlags({ chttpd_auth: { ...before, [key]: value } })
    const { problems } = loadConfiguration({
      table: OPTION_TABLE,
      flags: { configs: [], flags, problems: [] },
      env: {},
      cwd: '/',
    })
    assert.deepEqual([...new Set(problems.map(({ kind }) => kind))], ['bad-value'])
  })
}

test('a refused value leaves every password as it was', async () => {
  const user = { name: 'ann', password: 'secret', roles: [], type: 'user' }
  await ask('PUT', `${CONFIG}/iterations`, { as: AS_ADMIN, body: '"10"' })
  await ask('PUT', '/_users/org.couchdb.user:ann', { as: AS_ADMIN, body: user })
  await ask('PUT', `${CONFIG}/iterations`, { as: AS_ADMIN, body: '"60000000"' })
  for (const as of [AS_ADMIN, 'ann:secret'])
    assert.equal((await ask('GET', '/_session', { as })).json.userCtx.name !== null, true)
  await ask('DELETE', `${CONFIG}/iterations`, { as: AS_ADMIN })
  for (const as of [AS_ADMIN, 'ann:secret']) assert.equal((await ask('GET', '/_session', { as })).status, 200)
})
