// Changes of several users, and what a user may reach, at /_cardea/api.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const API = '/_cardea/api'
const server = await startServer(createSharedScope(), { admin: { 'user-admin-role': 'helpdesk' } })

const askAs = (as: string, method: string, path: string, body?: unknown) =>
  send(server.document, { method, path: `${API}${path}`, as, ...(body !== undefined && { body }) })
const ask = (method: string, path: string, body?: unknown) => askAs(AS_ADMIN, method, path, body)

async function addUser(name: string, more: object = {}): Promise<void> {
  const { status, body } = await ask('POST', '/users', { name, password: 'pw', ...more })
  assert.equal(status, 200, body)
}

describe('a batch', () => {
  const rows: readonly (readonly [action: string, body: object, check: (user: Record<string, unknown>) => unknown])[] =
    [
      ['disable', {}, ({ active }) => active === false],
      ['enable', {}, ({ active }) => active === true],
      ['addRoles', { roles: ['x'] }, ({ roles }) => String(roles) === 'reader,x'],
      ['removeRoles', { roles: ['reader'] }, ({ roles }) => String(roles) === 'x'],
      ['signOut', {}, () => true],
      ['delete', {}, ({ error }) => error === 'not_found'],
    ]
  it('changes every user and reports each', async () => {
    await addUser('b1', { roles: ['reader'] })
    await addUser('b2', { roles: ['reader'] })
    for (const [action, more, check] of rows) {
      const reply = await ask('POST', '/user-batch', { names: ['b1', 'b2', 'unknown', 'b1'], action, ...more })
      assert.deepEqual(
        reply.json.outcomes.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]),
        [
          ['b1', true],
          ['b2', true],
          ['unknown', false],
        ],
        reply.body,
      )
      for (const name of ['b1', 'b2']) assert.ok(check((await ask('GET', `/users/${name}`)).json), `${action} ${name}`)
    }
  })

  it('changes only what the caller may change', async () => {
    await addUser('helper', { roles: ['helpdesk'] })
    await addUser('weak')
    await addUser('strong', { roles: ['writer'] })
    const names = ['weak', 'strong', 'helper', 'admin']
    const { outcomes } = (await askAs('helper:pw', 'POST', '/user-batch', { names, action: 'disable' })).json
    assert.deepEqual(
      outcomes.map(({ name, ok, reason }: Record<string, unknown>) => [name, ok, reason]),
      [
        ['weak', true, undefined],
        ['strong', false, 'You do not have the role writer.'],
        ['helper', false, 'Your own account is not changed with others.'],
        ['admin', false, 'Not found.'],
      ],
    )
    const raise = await askAs('helper:pw', 'POST', '/user-batch', {
      names: ['weak'],
      action: 'addRoles',
      roles: ['writer'],
    })
    assert.equal(raise.json.outcomes[0].ok, false)
  })

  for (const [title, body] of Object.entries<object>({
    'no names': { names: [], action: 'enable' },
    'too many names': { names: Array.from({ length: 1001 }, String), action: 'enable' },
    'an unknown action': { names: ['a'], action: 'toString' },
    'roles that are missing': { names: ['a'], action: 'addRoles' },
    'roles that are not needed': { names: ['a'], action: 'enable', roles: ['x'] },
  }))
    it(`rejects ${title}`, async () => {
      assert.equal((await ask('POST', '/user-batch', body)).json.error, 'bad_request')
    })
})

describe('what a user may reach', () => {
  const explain = async (name: string, database = 'sales') =>
    (await ask('GET', `/users/${name}/access?database=${database}`)).json
  const isAllowed = ({ doors }: { doors: { rules: { what: string; isAllowed: boolean }[] }[] }, what: string) =>
    doors.flatMap(({ rules }) => rules).find((rule) => rule.what === what)?.isAllowed

  it('agrees with what the doors do', async () => {
    await addUser('none')
    await addUser('reader', { grants: [{ database: 'sales', level: 'ro' }] })
    await addUser('manager', { grants: [{ database: '_system', level: 'rw' }] })
    await addUser('watcher', { roles: ['_metrics'] })
    for (const name of ['none', 'reader', 'manager', 'watcher', 'admin']) {
      const as = name === 'admin' ? AS_ADMIN : `${name}:pw`
      const statuses = {
        'use the database sales':
          (await send(server.multiModel, { path: '/_db/sales/_api/version', as })).status !== 401,
        'manage users and the server': (await send(server.multiModel, { path: '/_api/user', as })).status === 200,
        'read and change the configuration':
          (await send(server.document, { path: '/_node/_local/_config', as })).status === 200,
        'list the users': (await send(server.document, { path: '/_users/_all_docs', as })).status === 200,
      }
      const access = await explain(name)
      for (const [what, expected] of Object.entries(statuses))
        assert.equal(isAllowed(access, what), expected, `${name}: ${what}`)
    }
  })

  it('says why', async () => {
    await addUser('why', {
      grants: [
        { database: '*', level: 'ro' },
        { database: 'hr', level: 'none' },
        { database: 'sales', level: 'none', collection: 'salaries' },
      ],
    })
    const reasons = async (database: string) =>
      (await explain('why', database)).doors
        .flatMap(({ rules }: { rules: { what: string; because: string }[] }) => rules)
        .filter(({ what }: { what: string }) => what.startsWith('use '))
        .map(({ because }: { because: string }) => because)
    assert.deepEqual(await reasons('hr'), ['The grant on hr: no access.'])
    assert.deepEqual(await reasons('sales'), [
      'There is no grant on sales; the higher of those on * and _system applies: read only.',
      'The grant on sales/salaries: no access.',
    ])
  })

  it('says why a user cannot sign in', async () => {
    await addUser('off', { active: false })
    await addUser('old', { expires: '2001-01-01' })
    await addUser('new', { mustChangePassword: true })
    for (const [name, allowed, because] of [
      ['off', false, 'The user is disabled.'],
      ['old', false, 'The user has expired.'],
      ['new', true, 'Only to change the password: everything else is rejected until then.'],
    ] as const) {
      const { signIn, doors } = await explain(name)
      assert.deepEqual([signIn.isAllowed, signIn.because, doors.length > 0], [allowed, because, allowed])
    }
    assert.equal((await explain('unknown')).error, 'not_found')
    assert.equal((await explain('off', '%00')).error, 'bad_request')
  })
})
