// Searching users at /_cardea/api/users.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const API = '/_cardea/api'
const { document: url } = await startServer(createSharedScope(), { chttpd_auth_lockout: { threshold: 2 } })

const ask = (method: string, path: string, body?: unknown) =>
  send(url, { method, path: `${API}${path}`, as: AS_ADMIN, ...(body !== undefined && { body }) })

const USERS: Readonly<Record<string, object>> = {
  Anna: { roles: ['reader'] },
  anton: { roles: ['annual report', 'Reader'] },
  ANNE: { active: false },
  ben: { roles: ['ANNOTATE', 'annual report'] },
  carl: { expires: '2001-01-01', roles: ['reader'] },
  dora: { active: false, roles: ['reader'] },
  Émile: {},
}
for (const [name, more] of Object.entries(USERS)) {
  const { status, body } = await ask('POST', '/users', { name, password: 'pw', ...more })
  assert.equal(status, 200, body)
}

const asDora = { as: 'dora:pw', method: 'POST' }
await ask('PUT', '/users/dora/active', { active: true })
const { secret } = (await send(url, { ...asDora, path: '/_cardea/account/totp', body: {} })).json
const code = renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))
const confirmed = await send(url, { ...asDora, path: '/_cardea/account/totp/confirm', body: { secret, code } })
assert.equal(confirmed.status, 200, confirmed.body)
await ask('PUT', '/users/dora/active', { active: false })

const toQuery = (query: Readonly<Record<string, string>>) => new URLSearchParams(query).toString()

async function search(query: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { json, body } = await ask('GET', `/users?${toQuery(query)}`)
  assert.ok(json.users, body)
  return json.users.map(({ name }: { name: string }) => name)
}

describe('search', () => {
  const rows: readonly (readonly [title: string, query: Readonly<Record<string, string>>, found: readonly string[]])[] =
    [
      [
        'by the beginning of the name, then a part of it, then the beginning of a role',
        { search: 'ann' },
        ['Anna', 'ANNE', 'ben', 'anton'],
      ],
      ['in any case', { search: 'aNN' }, ['Anna', 'ANNE', 'ben', 'anton']],
      ['by any part of the name of at least two characters', { search: 'RL' }, ['carl']],
      ['by one character only at the beginning', { search: 'n' }, []],
      ['with accents', { search: 'é' }, ['Émile']],
      ['by role', { role: 'READER' }, ['Anna', 'anton', 'carl', 'dora']],
      ['by role and beginning', { role: 'reader', search: 'an' }, ['Anna', 'anton']],
      ['disabled ones', { status: 'disabled' }, ['ANNE', 'dora']],
      ['disabled ones by role', { status: 'disabled', role: 'reader' }, ['dora']],
      ['disabled ones by beginning', { status: 'disabled', search: 'd' }, ['dora']],
      ['expired ones', { status: 'expired' }, ['carl']],
      ['those with a second factor', { status: 'second-factor' }, ['dora']],
      ['those with a second factor by role', { status: 'second-factor', role: 'annual report' }, []],
      ['those without a second factor', { status: 'no-second-factor', role: 'reader' }, ['Anna', 'anton', 'carl']],
      ['those without a second factor by beginning', { status: 'no-second-factor', search: 'd' }, []],
      ['none', { search: 'zzz' }, []],
    ]
  for (const [title, query, found] of rows)
    it(title, async () => {
      assert.deepEqual(await search(query), found)
    })

  it('shows who has a second factor', async () => {
    const { users } = (await ask('GET', '/users?role=reader')).json
    const listed = users.map(({ name, totp }: { name: string; totp: boolean }) => [name, totp])
    assert.deepEqual(listed, [
      ['Anna', false],
      ['anton', false],
      ['carl', false],
      ['dora', true],
    ])
  })

  it('page by page, each user once', async () => {
    const queries = [{ search: 'ann' }, { role: 'reader' }, { status: 'disabled' }, { status: 'no-second-factor' }]
    for (const query of queries) {
      const all = await search(query)
      const found: string[] = []
      let after: string | undefined
      do {
        const { json } = await ask('GET', `/users?${toQuery({ ...query, limit: '1', ...(after && { after }) })}`)
        found.push(...json.users.map(({ name }: { name: string }) => name))
        after = json.next
      } while (after !== undefined)
      assert.deepEqual(found, all)
    }
  })

  it('says how many match', async () => {
    const totalOf = async (query: Readonly<Record<string, string>>) =>
      (await ask('GET', `/users?${toQuery({ limit: '1', ...query })}`)).json.total
    assert.equal(await totalOf({}), (await search({})).length)
    assert.equal(await totalOf({ search: 'ann' }), 4)
    assert.equal(await totalOf({ search: 'zzz' }), 0)
  })

  it('locked accounts', async () => {
    assert.deepEqual(await search({ status: 'locked' }), [])
    for (let attempt = 0; attempt < 5; attempt += 1)
      await send(url, { method: 'POST', path: '/_session', body: { name: 'ben', password: 'wrong' } })
    assert.deepEqual(await search({ status: 'locked' }), ['ben'])
    assert.deepEqual(await search({ status: 'locked', search: 'c' }), [])
    await ask('POST', '/users/ben/unlock')
    assert.deepEqual(await search({ status: 'locked' }), [])
  })

  for (const query of ['status=odd', `search=${'x'.repeat(257)}`, 'search=a&after=odd', 'search=a&after=e30'])
    it(`rejects ${query.slice(0, 30)}`, async () => {
      assert.equal((await ask('GET', `/users?${query}`)).json.error, 'bad_request')
    })

  it('a text that no name can have finds nothing', async () => {
    assert.deepEqual(await search({ search: 'a\0' }), [])
  })
})

describe('roles', () => {
  it('are listed with the number of their members, page by page', async () => {
    const { json } = await ask('GET', '/roles?limit=2')
    assert.deepEqual(json.roles, [
      { name: 'ANNOTATE', members: 1 },
      { name: 'annual report', members: 2 },
    ])
    assert.deepEqual((await ask('GET', `/roles?limit=2&after=${encodeURIComponent(json.next)}`)).json, {
      roles: [{ name: 'reader', members: 4 }],
    })
    assert.deepEqual((await ask('GET', '/roles?search=READ')).json.roles, [{ name: 'reader', members: 4 }])
    assert.deepEqual((await ask('GET', '/roles?search=zzz')).json, { roles: [] })
  })

  it('show what their members reach', async () => {
    await ask('PUT', '/users/Anna/grants', { database: 'shop', level: 'rw' })
    await ask('PUT', '/users/anton/grants', { database: 'shop', collection: 'orders', level: 'ro' })
    const { json } = await ask('GET', '/roles/reader')
    assert.deepEqual(json.grants, [{ database: 'shop', rw: 1, ro: 0, none: 0, other: 1 }])
    assert.deepEqual([json.examined, json.isComplete, json.isUserAdmin], [4, true, false])
    assert.ok(json.rules.some(({ what }: { what: string }) => what === 'start a replication'))
    assert.equal((await ask('GET', '/roles/nobody')).json.error, 'not_found')
  })
})
