// Searching users at /_cardea/api/users.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
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

const toQuery = (query: Readonly<Record<string, string>>) => new URLSearchParams(query).toString()

async function search(query: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { json, body } = await ask('GET', `/users?${toQuery(query)}`)
  assert.ok(json.users, body)
  return json.users.map(({ name }: { name: string }) => name)
}

describe('search', () => {
  const rows: readonly (readonly [title: string, query: Readonly<Record<string, string>>, found: readonly string[]])[] =
    [
      ['by the beginning of the name, then of a role', { prefix: 'ann' }, ['Anna', 'ANNE', 'ben', 'anton']],
      ['in any case', { prefix: 'aNN' }, ['Anna', 'ANNE', 'ben', 'anton']],
      ['with accents', { prefix: 'é' }, ['Émile']],
      ['by role', { role: 'READER' }, ['Anna', 'anton', 'carl', 'dora']],
      ['by role and beginning', { role: 'reader', prefix: 'an' }, ['Anna', 'anton']],
      ['disabled ones', { status: 'disabled' }, ['ANNE', 'dora']],
      ['disabled ones by role', { status: 'disabled', role: 'reader' }, ['dora']],
      ['disabled ones by beginning', { status: 'disabled', prefix: 'd' }, ['dora']],
      ['expired ones', { status: 'expired' }, ['carl']],
      ['none', { prefix: 'zzz' }, []],
    ]
  for (const [title, query, found] of rows)
    it(title, async () => {
      assert.deepEqual(await search(query), found)
    })

  it('page by page, each user once', async () => {
    for (const query of [{ prefix: 'ann' }, { role: 'reader' }, { status: 'disabled' }]) {
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

  it('locked accounts', async () => {
    assert.deepEqual(await search({ status: 'locked' }), [])
    for (let attempt = 0; attempt < 5; attempt += 1)
      await send(url, { method: 'POST', path: '/_session', body: { name: 'ben', password: 'wrong' } })
    assert.deepEqual(await search({ status: 'locked' }), ['ben'])
    assert.deepEqual(await search({ status: 'locked', prefix: 'c' }), [])
    await ask('POST', '/users/ben/unlock')
    assert.deepEqual(await search({ status: 'locked' }), [])
  })

  for (const query of ['status=odd', `prefix=${'x'.repeat(257)}`, 'prefix=a&after=odd', 'prefix=a&after=e30'])
    it(`rejects ${query.slice(0, 30)}`, async () => {
      assert.equal((await ask('GET', `/users?${query}`)).json.error, 'bad_request')
    })

  it('a prefix that no name can have finds nothing', async () => {
    assert.deepEqual(await search({ prefix: 'a\0' }), [])
  })
})
