/** The most that a password hash may cost: accounts stay usable, whatever the options were in between. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toFlags } from '../../src/config/flags.ts'
import { loadConfiguration } from '../../src/live-config/load.ts'
import { AS_ADMIN, createAsk } from '../support/request.ts'
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

for (const [key, value, before] of REFUSED) {
  const given = Object.entries(before).map(([name, text]) => `${name} = ${text}`)
  test(`${key} = ${value} is refused ${given.length > 0 ? `with ${given}` : 'over HTTP and in files'}`, async (t) => {
    const { document } = await startServer(t, CHANGEABLE)
    const ask = createAsk(document)
    for (const [name, text] of Object.entries(before))
      assert.equal((await ask('PUT', `${CONFIG}/${name}`, { as: AS_ADMIN, body: JSON.stringify(text) })).status, 200)
    const path = `/_cardea/api/settings/chttpd_auth/${key}`
    const preview = await ask('POST', `${path}/preview`, { as: AS_ADMIN, body: { value } })
    assert.match(preview.json.problems.join(), /cost too much to verify: the limit is \d+$/)
    for (const [to, body] of [
      [`${CONFIG}/${key}`, JSON.stringify(value)],
      [path, { value }],
    ] as const) {
      const { status, body: text } = await ask('PUT', to, { as: AS_ADMIN, body })
      assert.equal(status, 400, text)
      assert.match(text, /cost too much to verify/)
    }
    const flags = toFlags({ chttpd_auth: { ...before, [key]: value } })
    const { problems } = loadConfiguration({ flags: { configs: [], flags, problems: [] }, env: {}, cwd: '/' })
    assert.deepEqual([...new Set(problems.map(({ kind }) => kind))], ['bad-value'])
  })
}

test('a refused value leaves every password as it was', async (t) => {
  const { document } = await startServer(t, CHANGEABLE)
  const ask = createAsk(document)
  const user = { name: 'ann', password: 'secret', roles: [], type: 'user' }
  await ask('PUT', `${CONFIG}/iterations`, { as: AS_ADMIN, body: '"10"' })
  await ask('PUT', '/_users/org.couchdb.user:ann', { as: AS_ADMIN, body: user })
  await ask('PUT', `${CONFIG}/iterations`, { as: AS_ADMIN, body: '"60000000"' })
  for (const as of [AS_ADMIN, 'ann:secret'])
    assert.equal((await ask('GET', '/_session', { as })).json.userCtx.name !== null, true)
  await ask('DELETE', `${CONFIG}/iterations`, { as: AS_ADMIN })
  for (const as of [AS_ADMIN, 'ann:secret']) assert.equal((await ask('GET', '/_session', { as })).status, 200)
})
