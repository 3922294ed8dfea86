import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { readQuery, requireValid } from '../../src/dialects/admin-api/json.ts'
import { count, flag, listOf, nullable, object, oneOf, text } from '../../src/dialects/admin-api/schemas/schema.ts'

const GRANT = object({ database: text(), level: nullable(oneOf(['rw', 'ro'])), 'collection?': text() })
const BODY = object({ name: text(), 'active?': flag(), 'roles?': listOf(text()), 'grants?': listOf(GRANT) })
const QUERY = object({ 'limit?': count(1000, 'At most 1000.'), 'order?': oneOf(['newest', 'oldest']) })

const KNOWN = 'known are name, active, roles, grants.'

const ACCEPTED: Readonly<Record<string, unknown>> = {
  'only what is required': { name: 'a' },
  'all members': { name: 'a', active: true, roles: ['x'], grants: [{ database: 'd', level: 'rw', collection: 'c' }] },
  'null where it is allowed': { name: 'a', grants: [{ database: 'd', level: null }] },
}

for (const [name, body] of Object.entries(ACCEPTED))
  test(`a body is accepted with ${name}`, () => assert.equal(requireValid(BODY, body), body))

const REFUSED: Readonly<Record<string, readonly [body: unknown, reason: string]>> = {
  'a list instead of an object': [[], 'The body must be an object.'],
  null: [null, 'The body must be an object.'],
  'a missing member': [{}, 'name is missing.'],
  'a member of the prototype': [JSON.parse('{"__proto__":{"name":"a"}}'), `The body has an unknown member; ${KNOWN}`],
  'an unknown member': [{ name: 'a', rols: [] }, `The body has an unknown member; ${KNOWN}`],
  'another type': [{ name: 1 }, 'name must be a string.'],
  'null where it is not allowed': [{ name: 'a', active: null }, 'active must be true or false.'],
  'a list with another type': [{ name: 'a', roles: ['x', 1] }, 'roles must be a list of strings.'],
  'an item that is no object': [{ name: 'a', grants: [7] }, 'grants[0] must be an object.'],
  'an item with a missing member': [{ name: 'a', grants: [{ database: 'd' }] }, 'grants[0].level is missing.'],
  'an item with another word': [
    { name: 'a', grants: [{ database: 'd', level: 'rx' }] },
    'grants[0].level must be one of rw, ro or null.',
  ],
  'an item with an unknown member': [
    { name: 'a', grants: [{ database: 'd', level: 'rw', more: 1 }] },
    'grants[0] has an unknown member; known are database, level, collection.',
  ],
}

const reasonOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.reason ?? error.code
  }
  return undefined
}

for (const [name, [body, reason]] of Object.entries(REFUSED))
  test(`a body is refused with ${name}`, () =>
    assert.equal(
      reasonOf(() => requireValid(BODY, body)),
      reason,
    ))

test('a missing body is refused', () =>
  assert.equal(
    reasonOf(() => requireValid(BODY, undefined)),
    'missing_body',
  ))

const QUERIES: Readonly<Record<string, string | object>> = {
  '': {},
  'limit=1000&order=oldest': { limit: 1000, order: 'oldest' },
  'limit=0': 'limit must be a number from 1 to 1000.',
  'limit=1001': 'limit must be a number from 1 to 1000.',
  'limit=1e2': 'limit must be a number from 1 to 1000.',
  'limit=': 'limit must be a number from 1 to 1000.',
  'order=other': 'order must be one of newest, oldest.',
  'limit=1&limit=2': 'limit must be given once.',
  'other=1': 'The query has an unknown parameter; known are limit, order.',
  '__proto__=1': 'The query has an unknown parameter; known are limit, order.',
}

for (const [query, expected] of Object.entries(QUERIES))
  test(`the query ${query || 'without parameters'}`, () => {
    const read = () => readQuery(QUERY, new URLSearchParams(query))
    if (typeof expected === 'string') assert.equal(reasonOf(read), expected)
    else assert.deepEqual(read(), expected)
  })
