import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { coversGrants, resolveCollectionLevel, resolveDatabaseLevel, withGrant } from '../../src/directory/grants.ts'
import type { Grant, GrantLevel } from '../../src/directory/users/user.ts'

type Given = Readonly<Record<string, GrantLevel>>

/** `shop` is a database, `shop/orders` a collection. */
function toGrants(given: Given): ReadonlyMap<string, Grant> {
  let grants: ReadonlyMap<string, Grant> = new Map()
  for (const [place, level] of Object.entries(given)) {
    const [database = '', collection] = place.split('/')
    grants = withGrant(grants, level, { database, collection })
  }
  return grants
}

const databases: readonly (readonly [string, Given, string, GrantLevel])[] = [
  ['nothing granted', {}, 'shop', 'none'],
  ['its own entry', { shop: 'ro' }, 'shop', 'ro'],
  ['its own entry, lower than the defaults', { shop: 'none', '*': 'rw', _system: 'rw' }, 'shop', 'none'],
  ['the default for all', { '*': 'ro' }, 'shop', 'ro'],
  ['the system database as a default', { _system: 'rw' }, 'shop', 'rw'],
  ['the better of both defaults', { _system: 'ro', '*': 'rw' }, 'shop', 'rw'],
  ['an entry with collections only has no effect on the database', { 'shop/orders': 'rw', '*': 'ro' }, 'shop', 'ro'],
  ['a property of Object.prototype', {}, '__proto__', 'none'],
]

describe('level on a database', () => {
  for (const [name, given, database, level] of databases) {
    it(name, () => assert.equal(resolveDatabaseLevel(toGrants(given), database), level))
  }
})

const collections: readonly (readonly [string, Given, string, GrantLevel])[] = [
  ['nothing granted', {}, 'shop/orders', 'none'],
  ['its own entry', { 'shop/orders': 'none', shop: 'rw', 'shop/*': 'rw' }, 'shop/orders', 'none'],
  ['the level of the database', { shop: 'ro' }, 'shop/orders', 'ro'],
  ['all collections of the database', { shop: 'ro', 'shop/*': 'rw' }, 'shop/orders', 'rw'],
  ['the system database', { shop: 'none', _system: 'ro' }, 'shop/orders', 'ro'],
  ['all databases', { '*': 'rw' }, 'shop/orders', 'rw'],
  ['all collections of all databases', { '*/*': 'ro' }, 'shop/orders', 'ro'],
  ['the collection of users', { '*': 'rw', _system: 'rw' }, '_system/_users', 'none'],
  ['queues', {}, 'shop/_queues', 'ro'],
  ['the collection of the console', {}, 'shop/_frontend', 'rw'],
  ['another system collection', { shop: 'ro', 'shop/*': 'rw' }, 'shop/_graphs', 'ro'],
]

describe('level on a collection', () => {
  for (const [name, given, place, level] of collections) {
    const [database = '', collection = ''] = place.split('/')
    it(name, () => assert.equal(resolveCollectionLevel(toGrants(given), database, collection), level))
  }
})

it('a new grant does not change the grants it was created from', () => {
  const before = toGrants({ shop: 'ro' })
  withGrant(before, 'rw', { database: 'shop', collection: 'orders' })
  withGrant(before, undefined, { database: 'shop', collection: undefined })
  assert.deepEqual(before, toGrants({ shop: 'ro' }))
})

describe('whether grants cover others', () => {
  const rows: readonly (readonly [title: string, own: Given, others: Given, covers: boolean])[] = [
    ['none cover none', {}, {}, true],
    ['none cover a denial', {}, { a: 'none' }, true],
    ['none cover no level', {}, { a: 'ro' }, false],
    ['a level covers itself and lower ones', { a: 'rw' }, { a: 'ro' }, true],
    ['a level covers no higher one', { a: 'ro' }, { a: 'rw' }, false],
    ['a default covers single databases', { '*': 'ro' }, { a: 'ro', b: 'ro' }, true],
    ['single databases cover no default', { a: 'rw' }, { '*': 'ro' }, false],
    ['a default with an exception does not cover it', { '*': 'rw', a: 'none' }, { a: 'ro' }, false],
    ['nor a default without the exception', { '*': 'rw', a: 'none' }, { '*': 'ro' }, false],
    ['the system database is a default too', { a: 'rw' }, { _system: 'ro' }, false],
    ['a database covers its collections', { a: 'ro' }, { 'a/c': 'ro' }, true],
    ['but none with a higher level', { a: 'ro' }, { 'a/c': 'rw' }, false],
    ['a collection covers no other', { 'a/c': 'ro' }, { 'a/d': 'ro' }, false],
  ]
  for (const [title, own, others, covers] of rows)
    it(title, () => assert.equal(coversGrants(toGrants(own), toGrants(others)), covers))
})
