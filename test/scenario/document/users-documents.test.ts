import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS, assertRefused, createUsersServer, idOf, pathOf } from './users-server.ts'

const { ask, add, get, change, signIn } = createUsersServer()

const HASH = ['password_scheme', 'pbkdf2_prf', 'salt', 'iterations', 'derived_key']

test('a document lists id, revision and stored password first, then the members in their order', async () => {
  await add('ada', { roles: ['math'], nick: 'A', shoe: { size: 38 }, list: [1, null] })
  const { json, headers } = await get('ada')
  assert.deepEqual(Object.keys(json), ['_id', '_rev', ...HASH, 'name', 'type', 'roles', 'nick', 'shoe', 'list'])
  assert.equal(json._id, idOf('ada'))
  assert.deepEqual(json.shoe, { size: 38 })
  assert.equal(headers.etag, `"${json._rev}"`)
  assert.equal('password' in json, false)
})

test('names such as __proto__ are ordinary members', async () => {
  const body = `{"name":"proto","type":"user","roles":[],"constructor":1,"toString":2,"x":{"__proto__":{"isAdmin":true}}}`
  assert.equal((await ask('PUT', pathOf('proto'), { body })).status, 201)
  const { body: text, json } = await get('proto')
  assert.match(text, /"constructor":1,"toString":2,"x":\{"__proto__":\{"isAdmin":true\}\}/)
  assert.equal(json.x.isAdmin, undefined)
})

test('a number is kept exactly or rejected: in documents, bulk writes and local documents', async () => {
  const member = (number: string) => `{"name":"numb","type":"user","roles":[],"x":${number}}`
  const [id, note] = [idOf('numb'), '/_users/_local/numb']
  for (const number of ['9007199254740993', '0.1000000000000000000001', '-1e400', '1e-400']) {
    const list = `{"docs":[{"_id":"${id}",${member(number).slice(1)}]}`
    const refused = [
      await ask('PUT', pathOf('numb'), { body: member(number) }),
      await ask('POST', '/_users/_bulk_docs', { body: list }),
      await ask('PUT', note, { body: member(number) }),
    ]
    for (const answer of refused) {
      assertRefused(answer, 400, 'bad_request', 'The body holds a number that cannot be kept exactly as it is.')
    }
  }
  assert.equal((await ask('PUT', note, { body: member('[1.0,1E2,-0.0,0.1,9007199254740992]') })).status, 201)
})

test('an update names the current revision in the body, the query or If-Match', async () => {
  const first = await add('rev')
  const { json } = await get('rev')
  const { _rev, ...rest } = json
  const inBody = await ask('PUT', pathOf('rev'), { body: { ...rest, _rev: first, nick: '1' } })
  assert.equal(inBody.status, 201)
  const inQuery = await ask('PUT', `${pathOf('rev')}?rev=${inBody.json.rev}`, { body: { ...rest, nick: '2' } })
  assert.equal(inQuery.status, 201)
  const headers = { 'If-Match': `"${inQuery.json.rev}"` }
  const inHeader = await ask('PUT', pathOf('rev'), { body: { ...rest, nick: '3' }, headers })
  assert.equal(inHeader.status, 201)
  assert.equal(inHeader.headers.etag, `"${inHeader.json.rev}"`)
  assert.equal(inHeader.headers.location, pathOf('rev'))
  assert.match(inHeader.json.rev, /^4-/)
})

test('missing, old, contradictory and malformed revisions are rejected', async () => {
  const rev = await add('conflict')
  const body = { name: 'conflict', type: 'user', roles: [] }
  const other = `1-${'0'.repeat(32)}`
  const put = (query: string, document: object, headers = {}) =>
    ask('PUT', `${pathOf('conflict')}${query}`, { body: document, headers })
  assertRefused(await put('', body), 409, 'conflict', 'Document update conflict.')
  assertRefused(await put('', { ...body, _rev: other }), 409, 'conflict')
  assertRefused(
    await put(`?rev=${other}`, { ...body, _rev: rev }),
    400,
    'bad_request',
    'Document rev from request body and query string have different values',
  )
  assertRefused(
    await put(`?rev=${rev}`, body, { 'If-Match': other }),
    400,
    'bad_request',
    'Document rev and etag have different values',
  )
  for (const bad of ['x', '1', '-1', 'a-b', '', `1-${'z'.repeat(32)}`]) {
    assertRefused(await put(`?rev=${bad}`, body), 400, 'bad_request', 'Invalid rev format')
  }
  assertRefused(
    await ask('PUT', pathOf('missing'), { body: { ...body, name: 'missing', _rev: other } }),
    409,
    'conflict',
  )
})

test('an unusual but well-formed revision is a conflict, not an error', async () => {
  const rev = await add('short')
  const body = { name: 'short', type: 'user', roles: [] }
  for (const short of ['1-abc', '2-XYZ', '1-', '0-1', `1-${'f'.repeat(40)}`]) {
    assertRefused(await ask('GET', `${pathOf('short')}?rev=${short}`), 404, 'not_found', 'missing')
    assertRefused(await ask('PUT', pathOf('short'), { body: { ...body, _rev: short } }), 409, 'conflict')
    assertRefused(await ask('DELETE', `${pathOf('short')}?rev=${short}`), 409, 'conflict')
    const opened = await ask('GET', `${pathOf('short')}?open_revs=["${short}"]`)
    assert.deepEqual(opened.json, [{ missing: short }])
    const got = await ask('POST', '/_users/_bulk_get', { body: { docs: [{ id: idOf('short'), rev: short }] } })
    assert.equal(got.json.results[0].docs[0].error.reason, 'missing')
    const many = await ask('POST', '/_users/_bulk_docs', {
      body: { docs: [{ ...body, _id: idOf('short'), _rev: short }] },
    })
    assert.equal(many.json[0].error, 'conflict')
  }
  const diff = await ask('POST', '/_users/_revs_diff', { body: { [idOf('short')]: ['1-abc', rev, '2-x'] } })
  assert.deepEqual(diff.json[idOf('short')], { missing: ['1-abc', '2-x'], possible_ancestors: [rev] })
  assertRefused(
    await ask('PUT', '/_users/_local/note', { body: { _rev: '0-abc' } }),
    400,
    'bad_request',
    'Invalid rev format',
  )
})

test('If-None-Match with the current revision is 304', async () => {
  const rev = await add('etag')
  const headers = { 'If-None-Match': `W/"x", "${rev}"` }
  const answer = await get('etag', { headers })
  assert.equal(answer.status, 304)
  assert.equal(answer.body, '')
  assert.equal(answer.headers.etag, `"${rev}"`)
  assert.equal((await get('etag', { headers: { 'If-None-Match': '"1-x"' } })).status, 200)
})

test('HEAD returns the revision without the document', async () => {
  const rev = await add('head')
  const answer = await ask('HEAD', pathOf('head'))
  assert.deepEqual([answer.status, answer.headers.etag, answer.body], [200, `"${rev}"`, ''])
})

test('a deleted document keeps its revision, and the name can be used again', async () => {
  const rev = await add('gone')
  const deleted = await ask('DELETE', `${pathOf('gone')}?rev=${rev}`)
  assert.equal(deleted.status, 200)
  assert.match(deleted.json.rev, /^2-/)
  assert.equal(await signIn('gone', 'gone-pw'), 401)
  assertRefused(await get('gone'), 404, 'not_found', 'deleted')
  assertRefused(await get('gone', { as: ANONYMOUS }), 404, 'not_found', 'missing')
  assertRefused(await ask('DELETE', `${pathOf('gone')}?rev=${rev}`), 404, 'not_found', 'deleted')
  const old = await ask('GET', `${pathOf('gone')}?rev=${deleted.json.rev}`)
  assert.deepEqual(old.json, { _id: idOf('gone'), _rev: deleted.json.rev, _deleted: true })
  assertRefused(await ask('GET', `${pathOf('gone')}?rev=${rev}`), 404, 'not_found', 'missing')
  assert.match(await add('gone'), /^3-/)
})

test('writing a document with _deleted deletes it', async () => {
  await add('flagged')
  assert.equal((await change('flagged', { _deleted: true })).status, 200)
  assertRefused(await get('flagged'), 404, 'not_found', 'deleted')
  const body = { _deleted: true }
  assertRefused(await ask('PUT', pathOf('never-there'), { body }), 404, 'not_found', 'missing')
})

test('POST to the database uses the id in the document', async () => {
  const body = { _id: idOf('posted'), name: 'posted', type: 'user', roles: [], password: 'x' }
  const answer = await ask('POST', '/_users', { body })
  assert.equal(answer.status, 201)
  assert.equal(answer.json.id, idOf('posted'))
  const reason = 'Doc ID must be of the form org.couchdb.user:name'
  assertRefused(await ask('POST', '/_users', { body: { ...body, _id: undefined } }), 403, 'forbidden', reason)
  const headers = { 'Content-Type': 'text/plain' }
  assertRefused(await ask('POST', '/_users', { body, headers }), 415, 'bad_content_type')
})

const MALFORMED: readonly { name: string; body: string; status: number; error: string; reason: string }[] = [
  { name: 'not JSON', body: '{"name"', status: 400, error: 'bad_request', reason: 'invalid UTF-8 JSON' },
  { name: 'empty', body: '', status: 400, error: 'bad_request', reason: 'invalid UTF-8 JSON' },
  { name: 'a list', body: '[]', status: 400, error: 'bad_request', reason: 'Document must be a JSON object' },
  {
    name: 'a repeated member',
    body: '{"name":"bad","type":"user","roles":[],"roles":["x"]}',
    status: 400,
    error: 'bad_request',
    reason: 'An object in the body contains the same member twice.',
  },
  {
    name: 'a repeated member in a nested object, spelled with an escape',
    body: '{"name":"bad","type":"user","roles":[],"x":[{"a":1,"\\u0061":2}]}',
    status: 400,
    error: 'bad_request',
    reason: 'An object in the body contains the same member twice.',
  },
  {
    name: 'an unknown special member',
    body: '{"name":"bad","type":"user","roles":[],"_secret":1}',
    status: 400,
    error: 'doc_validation',
    reason: 'Bad special document member: _secret',
  },
  {
    name: 'an attachment',
    body: '{"name":"bad","type":"user","roles":[],"_attachments":{"a":{"data":"aGk="}}}',
    status: 400,
    error: 'bad_request',
    reason: 'Documents of this database cannot have attachments.',
  },
  {
    name: 'a number as password',
    body: '{"name":"bad","type":"user","roles":[],"password":123}',
    status: 403,
    error: 'forbidden',
    reason: "Password value of '123' is invalid.",
  },
  {
    name: 'nested too deeply',
    body: `{"name":"bad","type":"user","roles":[],"x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    status: 400,
    error: 'bad_request',
    reason: 'The body is nested too deeply.',
  },
  {
    name: 'a number that is too large',
    body: '{"name":"bad","type":"user","roles":[],"x":1e999}',
    status: 400,
    error: 'bad_request',
    reason: 'The body holds a number that cannot be kept exactly as it is.',
  },
  {
    name: 'too large',
    body: `{"name":"bad","type":"user","roles":[],"x":"${'x'.repeat(1_100_000)}"}`,
    status: 413,
    error: 'document_too_large',
    reason: idOf('bad'),
  },
]

for (const { name, body, status, error, reason } of MALFORMED) {
  test(`rejected: ${name}`, async () => {
    const headers = { 'Content-Type': 'application/json' }
    assertRefused(await ask('PUT', pathOf('bad'), body === '' ? { headers } : { body }), status, error, reason)
    assertRefused(await get('bad'), 404, 'not_found', 'missing')
  })
}

test('ids that are not of a user', async () => {
  const body = { name: 'x', type: 'user', roles: [] }
  assertRefused(await ask('PUT', '/_users/odd', { body }), 403, 'forbidden')
  assertRefused(await ask('GET', '/_users/odd'), 404, 'not_found', 'missing')
  assertRefused(await ask('GET', '/_users/odd/attachment'), 404, 'not_found', 'missing')
  assertRefused(await ask('PUT', pathOf('x\u0000y'), { body }), 400, 'bad_request')
})

test('an unknown path that begins with an underscore is 404 for every method', async () => {
  const nowhere = ['_find', '_compact', '_index', '_odd', '_design', '_local', '_design/_auth/_view/x', 'a/b', '_odd/x']
  for (const path of nowhere) {
    for (const method of ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'COPY']) {
      const answer = await ask(method, `/_users/${path}`, { body: {} })
      assert.equal(answer.status, 404, `${method} ${path}`)
      if (method !== 'HEAD') assert.equal(answer.json.reason, 'missing')
    }
  }
  assert.equal((await ask('GET', '/_users/_design%2F_auth')).status, 200)
  assert.equal((await ask('POST', '/_users/_design/_auth', { body: {} })).status, 405)
})

test('Allow lists the methods of the database', async () => {
  const { status, headers } = await ask('PATCH', '/_users')
  assert.deepEqual([status, headers.allow], [405, 'DELETE,GET,HEAD,POST'])
  assertRefused(await ask('PUT', '/_users'), 412, 'file_exists')
})

test('unusual valid names are returned unchanged', async () => {
  for (const name of ['a b', 'ä/ö', '名前', "o'neill", '%41', 'a+b', '😀', '..a', 'toString']) {
    await add(name)
    const { json, status } = await get(name)
    assert.deepEqual([status, json.name, json._id], [200, name, idOf(name)])
    assert.equal(await signIn(name, `${name}-pw`), 200, name)
  }
})
