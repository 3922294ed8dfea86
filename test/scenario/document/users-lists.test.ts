import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createUsersServer, idOf, pathOf } from './users-server.ts'

const { ask, add } = createUsersServer()
const NAMES = ['B', 'a', 'b', 'c', 'ä', '😀']

before(async () => {
  for (const name of NAMES) await add(name, { roles: [`role-${name}`] })
})

const key = (name: string): string => encodeURIComponent(JSON.stringify(idOf(name)))

/** A query, and the names in the result, in order. */
const LISTS: readonly { name: string; query: string; names: readonly string[]; offset?: number | null }[] = [
  { name: 'all, in byte order', query: '', names: NAMES, offset: 0 },
  { name: 'descending', query: 'descending=true', names: NAMES.toReversed() },
  { name: 'a limit', query: 'limit=2', names: ['B', 'a'] },
  { name: 'a limit of 0', query: 'limit=0', names: [] },
  { name: 'skip', query: 'skip=1&limit=2', names: ['a', 'b'], offset: 1 },
  { name: 'skip of more than all', query: 'skip=99', names: [], offset: 6 },
  { name: 'from a key', query: `startkey=${key('b')}`, names: ['b', 'c', 'ä', '😀'], offset: null },
  { name: 'from a key, with start_key', query: `start_key=${key('c')}`, names: ['c', 'ä', '😀'] },
  { name: 'to a key', query: `endkey=${key('b')}`, names: ['B', 'a', 'b'] },
  { name: 'to a key, exclusive', query: `end_key=${key('b')}&inclusive_end=false`, names: ['B', 'a'] },
  { name: 'between keys', query: `startkey=${key('a')}&endkey=${key('bb')}`, names: ['a', 'b'] },
  {
    name: 'between keys, descending',
    query: `descending=true&startkey=${key('bb')}&endkey=${key('a')}`,
    names: ['b', 'a'],
  },
  { name: 'start key after the end key', query: `startkey=${key('c')}&endkey=${key('a')}`, names: [] },
  { name: 'one key', query: `key=${key('c')}`, names: ['c'] },
  { name: 'a missing key', query: `key=${key('zz')}`, names: [] },
  { name: 'from a key before all ids', query: 'startkey="a"', names: NAMES },
  { name: 'from a key after all ids', query: 'startkey="z"', names: [] },
  { name: 'to a key before all ids', query: 'endkey="a"', names: [] },
  { name: 'to a key after all ids', query: 'endkey="z"', names: NAMES },
  { name: 'from a key after all ids, descending', query: 'startkey="z"&descending=true', names: NAMES.toReversed() },
  { name: 'a number comes before all ids', query: 'startkey=1', names: NAMES },
  { name: 'an object comes after all ids', query: 'endkey={}', names: NAMES },
  { name: 'a list comes after all ids', query: 'startkey=[]', names: [] },
]

for (const { name, query, names, offset } of LISTS) {
  test(`listed: ${name}`, async () => {
    const { json, status } = await ask('GET', `/_users/_all_docs?${query}`)
    assert.equal(status, 200)
    assert.deepEqual(
      json.rows.map(({ id }: { id: string }) => id),
      names.map(idOf),
    )
    assert.equal(json.total_rows, NAMES.length)
    if (offset !== undefined) assert.equal(json.offset, offset)
  })
}

test('rows contain key, revision and, with include_docs, the document', async () => {
  const { json: document } = await ask('GET', pathOf('a'))
  const plain = await ask('GET', `/_users/_all_docs?key=${key('a')}`)
  assert.deepEqual(plain.json.rows, [{ id: idOf('a'), key: idOf('a'), value: { rev: document._rev } }])
  const whole = await ask('GET', `/_users/_all_docs?key=${key('a')}&include_docs=true&update_seq=true`)
  assert.deepEqual(whole.json.rows[0].doc, document)
  assert.match(whole.json.update_seq, /^\d+-[0-9a-f]{32}$/)
})

test('keys are listed in their order, repeated ones too', async () => {
  const rev = await add('late')
  await ask('DELETE', `${pathOf('late')}?rev=${rev}`)
  const keys = [idOf('b'), 'missing', idOf('late'), 7, idOf('b'), '_design/_auth']
  const { rows } = (await ask('POST', '/_users/_all_docs?include_docs=true', { body: { keys } })).json
  assert.deepEqual(
    rows.map((row: { key: unknown }) => row.key),
    keys,
  )
  assert.equal(rows[0].doc.name, 'b')
  assert.deepEqual(rows[1], { key: 'missing', error: 'not_found' })
  assert.deepEqual([rows[2].value.deleted, rows[2].doc], [true, null])
  assert.deepEqual(rows[3], { key: 7, error: 'not_found' })
  assert.equal(rows[5].doc.language, 'javascript')
  const limited = await ask('POST', '/_users/_all_docs', { body: { keys, limit: 1, skip: 2, descending: true } })
  assert.deepEqual(
    limited.json.rows.map((row: { key: unknown }) => row.key),
    [7],
  )
})

const GROUPING = 'Invalid use of grouping on a map view.'

for (const [query, error, reason] of [
  ['limit=x', 'query_parse_error', 'Invalid value for integer: "x"'],
  ['limit=', 'query_parse_error', 'Invalid value for integer: []'],
  ['limit=-1', 'query_parse_error', 'Invalid value for positive integer: "-1"'],
  ['limit=1e3', 'query_parse_error', 'Invalid value for integer: "1e3"'],
  ['skip=1.5', 'query_parse_error', 'Invalid value for integer: "1.5"'],
  ['descending=yes', 'query_parse_error', 'Invalid boolean parameter: "yes"'],
  ['descending=', 'query_parse_error', 'Invalid boolean parameter: []'],
  ['reduce=true', 'query_parse_error', 'Reduce is invalid for map-only views.'],
  ['group=true', 'query_parse_error', GROUPING],
  ['group_level=1', 'query_parse_error', GROUPING],
  ['startkey=a', 'bad_request', 'invalid UTF-8 JSON'],
  ['keys=[', 'bad_request', 'invalid UTF-8 JSON'],
  ['keys={}', 'bad_request', '`keys` parameter must be an array.'],
] as const) {
  test(`rejected: ${query}`, async () => {
    const { status, json } = await ask('GET', `/_users/_all_docs?${query}`)
    assert.deepEqual([status, json], [400, { error, reason }])
  })
}

test('lists have the lines of CouchDB', async () => {
  assert.equal((await ask('GET', '/_users/_all_docs?limit=0')).body, '{"total_rows":6,"offset":0,"rows":[\n\n]}\n')
  const { body } = await ask('GET', '/_users/_all_docs?limit=0&update_seq=true')
  assert.match(body, /^\{"total_rows":6,"offset":0,"update_seq":"[^"]+","rows":\[\n\n\]\}\n$/)
  const got = await ask('POST', '/_users/_bulk_get', { body: { docs: [{ id: 'x' }, { id: 'y', rev: '1-a' }] } })
  const [x, y] = [
    '{"id":"x","docs":[{"error":{"rev":"undefined","reason":"missing","id":"x","error":"not_found"}}]}',
    '{"id":"y","docs":[{"error":{"rev":"1-a","reason":"missing","id":"y","error":"not_found"}}]}',
  ]
  assert.equal(got.body, `{"results":[${x},${y}]}\n`)
  assert.equal((await ask('POST', '/_users/_bulk_get', { body: { docs: [] } })).body, '{"results":[]}\n')
})
