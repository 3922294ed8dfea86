import assert from 'node:assert/strict'
import { SEARCH_ROWS } from '../../src/directory/store-port/users.ts'
import type { StoreScene, StoreTests } from './store.ts'
import { createIn, isRefusal, newUser } from './store-values.ts'

const DAMAGES = ['{"isActive":tr', '[]', '{"isActive":true}']

const damage = ({ place }: StoreScene, name: string, text: string) =>
  place.execute(`UPDATE cardea_users SET record = '${text}' WHERE name = '${name}'`)

const all = { kind: 'name', from: '', to: '\u{10ffff}' } as const
const START = { key: '', name: '' }

export const DAMAGE_TESTS: StoreTests = {
  async 'a damaged record is refused, whatever the damage, and the others are not'(scene) {
    for (const name of ['a', 'b']) await createIn(scene.store, name)
    for (const text of DAMAGES) {
      await damage(scene, 'b', text)
      await assert.rejects(scene.store.findUser('b'), isRefusal('record_damaged'), text)
    }
    assert.equal((await scene.store.findUser('a'))?.record.name, 'a')
    const damaged: string[] = []
    const found = await scene.store.findUsers(['b', 'a', 'c'], (name) => damaged.push(name))
    assert.deepEqual([[...found.keys()], damaged], [['a'], ['b']])
  },

  async 'a list leaves out damaged records, and only its last page is short'(scene) {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await createIn(scene.store, name)
    for (const name of ['a', 'b', 'd']) await damage(scene, name, '{')
    const list = async (descending: boolean, limit: number) =>
      (await scene.store.listUsers({ descending, limit })).map(({ record }) => record.name)
    assert.deepEqual(await list(false, 2), ['c', 'e'])
    assert.deepEqual(await list(true, 2), ['e', 'c'])
    assert.deepEqual(await list(false, 3), ['c', 'e'])
  },

  async 'a search leaves out damaged records, and only its last page is short'(scene) {
    const names = Array.from({ length: SEARCH_ROWS + 2 }, (_, index) => `u${String(index).padStart(4, '0')}`)
    await scene.store.importUsers(names.map((name) => ({ expected: 'absent', record: newUser(name) })))
    for (const name of names.slice(0, 2)) await damage(scene, name, '{')
    const found = await scene.store.searchUsers(all, START)
    assert.deepEqual(
      found.map(({ record }) => record.name),
      names.slice(2),
    )
  },

  async 'users are indexed for the search although a record is damaged'(scene) {
    for (const name of ['a', 'b', 'c']) await createIn(scene.store, name)
    await scene.place.execute('UPDATE cardea_state SET searched = 0')
    await scene.place.execute('DELETE FROM cardea_user_entries')
    await damage(scene, 'b', '{')
    const found = await scene.store.searchUsers(all, START)
    assert.deepEqual(
      found.map(({ record }) => record.name),
      ['a', 'c'],
    )
  },
}
