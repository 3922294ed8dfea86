import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { AS_ADMIN, type Reply, send } from '../support/request.ts'
import { type Server, startServer } from '../support/server.ts'

let server: Server
const ends: (() => unknown)[] = []
before(async () => {
  server = await startServer({ after: (end) => ends.push(end) })
})
after(async () => {
  for (const end of ends) await end()
})

const ask = (method: string, path: string, body?: unknown): Promise<Reply> =>
  send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, body })

async function findOption(name: string) {
  const { json } = await ask('GET', '/options')
  return json.options.find((option: { name: string }) => option.name === name)
}

const preview = async (path: string, value: unknown) => (await ask('POST', `/settings/${path}/preview`, { value })).json

test('lists every option of the table in its order, with the help of its section', async () => {
  const { json, body } = await ask('GET', '/options')
  assert.deepEqual(
    json.options.map(({ name }: { name: string }) => name),
    OPTION_TABLE.rows.map(({ name }) => name),
  )
  assert.ok(json.sections.every(({ help }: { help: string }) => help.endsWith('.')))
  assert.doesNotMatch(body, /test-cookie-secret|test-token-secret|adminpw/)
})

test('shows default, value, source, effect and why an option cannot be changed', async () => {
  assert.deepEqual(await findOption('chttpd_auth.timeout'), {
    name: 'chttpd_auth.timeout',
    section: 'chttpd_auth',
    key: 'timeout',
    help: OPTION_TABLE.rows.find(({ name }) => name === 'chttpd_auth.timeout')?.option.help,
    expects: 'a whole number, at least 1',
    type: 'text',
    default: '600',
    value: '600',
    source: { kind: 'default', text: 'default' },
    isSecret: false,
    effect: 'live',
  })
  const secret = await findOption('chttpd_auth.secret')
  assert.deepEqual([secret.value, secret.isSecret], ['***', true])
  assert.match(secret.fixed, /has precedence over run-time settings$/)
  const store = await findOption('store.url')
  assert.match(store.fixed, /^it /)
  assert.deepEqual((await findOption('log.level')).type, 'choice')
})

test('a change says how to undo it, and who waits for a restart', async () => {
  const first = (await ask('PUT', '/settings/chttpd_auth/timeout', { value: '700' })).json
  assert.deepEqual([first.previous, first.value, first.undo, first.needsRestart], ['', '700', 'unset', false])
  const shown = await findOption('chttpd_auth.timeout')
  assert.deepEqual([shown.value, shown.source], ['700', { kind: 'run time', text: 'run time' }])
  assert.equal(shown.changedBy, 'admin')
  assert.ok(Math.abs(shown.changedAt - Date.now() / 1000) < 60)
  const second = (await ask('PUT', '/settings/chttpd_auth/timeout', { value: '800' })).json
  assert.deepEqual([second.previous, second.undo], ['700', 'set'])
  const undone = (await ask('DELETE', '/settings/chttpd_auth/timeout')).json
  assert.deepEqual([undone.previous, undone.undo], ['800', 'set'])
})

test('shows the value in use of an option that waits for a restart', async () => {
  const change = (await ask('PUT', '/settings/document/version', { value: '3.4.0' })).json
  assert.equal(change.needsRestart, true)
  const { value, running, effect } = await findOption('document.version')
  assert.deepEqual([value, effect], ['3.4.0', 'restart'])
  assert.notEqual(running, undefined)
})

const PREVIEWS: readonly [name: string, path: string, value: unknown, problem: RegExp | undefined, effect?: RegExp][] =
  [
    ['a valid value', 'chttpd_auth/timeout', '1200', undefined, /within a second/],
    ['the present value', 'chttpd_auth/timeout', '600', undefined, /nothing changes/],
    ['the removal of a value', 'chttpd_auth/timeout', null, undefined, /default applies again/],
    ['a bad value', 'chttpd_auth/timeout', '10m', /expected a whole number, at least 1/],
    [
      'iterations of hashes that would not be verified',
      'chttpd_auth/min_iterations',
      '6000001',
      /the limit is 6000000$/,
    ],
    ['an option with a flag', 'chttpd_auth/secret', 'x'.repeat(32), /has precedence/],
    ['an option that is fixed', 'store/url', 'sqlite:x', /cannot be changed at run time/],
    ['an unknown option', 'chttpd_auth/timeoot', '1', /timeout/],
  ]

for (const [name, path, value, problem, effect] of PREVIEWS) {
  test(`previews ${name} and changes nothing`, async () => {
    const before = (await ask('GET', '/options')).body
    const { problems, effects } = await preview(path, value)
    if (problem) assert.match(problems.join(), problem)
    else assert.deepEqual(problems, [])
    if (effect) assert.match(effects.join(' '), effect)
    else assert.deepEqual(effects, [])
    assert.equal((await ask('GET', '/options')).body, before)
  })
}

test('rejects a preview that is no text, and one of an administrator', async () => {
  assert.equal((await ask('POST', '/settings/chttpd_auth/timeout/preview', { value: 5 })).status, 400)
  assert.equal((await ask('POST', '/settings/admins/eve/preview', { value: 'x' })).status, 403)
})

test('rejects an address that this machine does not have, because the next start would fail', async () => {
  const set = (value: string) => ask('PUT', '/settings/chttpd/bind_address', { value })
  for (const host of ['any', '::', '0:0::0', '0.0.0.0', '127.0.0.1']) assert.equal((await set(host)).status, 200, host)
  const refused = await set('192.0.2.1')
  assert.equal(refused.status, 400, refused.body)
  assert.match(refused.body, /this machine does not have the address 192\.0\.2\.1/)
})
