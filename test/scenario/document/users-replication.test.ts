// The requests of replicators, in their order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, createUsersServer, idOf, pathOf } from './users-server.ts'

const { ask, add, change } = createUsersServer()

test('a pull replication: checkpoint, changes, documents with revisions, checkpoint', async () => {
  await add('ada', { nick: 'A' })
  const rev = await add('bob')
  await ask('DELETE', `${pathOf('bob')}?rev=${rev}`)

  const info = (await ask('GET', '/_users/')).json
  assert.equal(info.instance_start_time, '0')
  assert.match(info.update_seq, /^\d+-/)
  const note = '/_users/_local/0f3.pQ-note%3D%3D'
  assertRefused(await ask('GET', note), 404, 'not_found', 'missing')

  const path = '/_users/_changes?timeout=10000&style=all_docs&since=0&limit=100&seq_interval=100'
  const { results, last_seq } = (await ask('GET', path)).json
  const docs = results.map(({ id, changes }: { id: string; changes: [{ rev: string }] }) => ({
    id,
    rev: changes[0].rev,
  }))
  const opened = await ask('POST', '/_users/_bulk_get?revs=true&latest=true', { body: { docs } })
  const [ada, bob] = opened.json.results.map((result: { docs: [{ ok: object }] }) => result.docs[0].ok)
  assert.equal(ada.nick, 'A')
  assert.ok('derived_key' in ada)
  assert.deepEqual(ada._revisions, { start: 1, ids: [ada._rev.slice(2)] })
  assert.equal(bob._deleted, true)
  assert.deepEqual(bob._revisions, { start: 2, ids: [bob._rev.slice(2), rev.slice(2)] })

  const first = await ask('PUT', note, { body: { _id: '_local/0f3.pQ-note==', last_seq, history: [] } })
  assert.deepEqual([first.status, first.json.rev], [201, '0-1'])
  const { json } = await ask('GET', note)
  assert.deepEqual([json._id, json._rev, json.last_seq], ['_local/0f3.pQ-note==', '0-1', last_seq])
  const second = await ask('PUT', note, { body: { ...json, last_seq: 'x' } })
  assert.equal(second.json.rev, '0-2')
  const commit = await ask('POST', '/_users/_ensure_full_commit', {
    body: '',
    headers: { 'Content-Type': 'application/json' },
  })
  assert.deepEqual([commit.status, commit.json], [201, { ok: true, instance_start_time: '0' }])
  assert.equal((await ask('DELETE', note)).json.rev, '0-0')
})

test('a replicator that is behind gets the latest revision', async () => {
  const old = await add('moving')
  const { json: now } = await change('moving', { nick: 'M' })
  const body = { docs: [{ id: idOf('moving'), rev: old }] }
  const latest = await ask('POST', '/_users/_bulk_get?latest=true', { body })
  assert.equal(latest.json.results[0].docs[0].ok._rev, now.rev)
  const exact = await ask('POST', '/_users/_bulk_get', { body })
  assert.deepEqual(exact.json.results[0].docs[0].error, {
    id: idOf('moving'),
    rev: old,
    error: 'not_found',
    reason: 'missing',
  })
  assert.equal((await ask('GET', `${pathOf('moving')}?rev=${old}&latest=true`)).json._rev, now.rev)
  const revisions = encodeURIComponent(JSON.stringify([old, now.rev]))
  const open = await ask('GET', `${pathOf('moving')}?open_revs=${revisions}&latest=true&revs=true`)
  assert.deepEqual(
    open.json.map((item: { ok: { _rev: string } }) => item.ok._rev),
    [now.rev],
  )
})

test('open_revs returns a list, or multipart if the client accepts it', async () => {
  const rev = await add('parts')
  const other = `7-${'0'.repeat(32)}`
  const path = `${pathOf('parts')}?revs=true&open_revs=${encodeURIComponent(JSON.stringify([rev, other]))}`
  const list = await ask('GET', path)
  assert.deepEqual([list.json[0].ok._rev, list.json[1]], [rev, { missing: other }])
  const { headers, body } = await ask('GET', path, { headers: { Accept: 'multipart/mixed' } })
  const boundary = /^multipart\/mixed; boundary="([0-9a-f]{32})"$/.exec(headers['content-type'] ?? '')?.[1]
  const [, first = '', second = '', end] = body.split(`--${boundary}`)
  assert.match(first, /^\r\nContent-Type: application\/json\r\n\r\n\{"_id".*\}\r\n$/)
  assert.equal(second, `\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"${other}"}\r\n`)
  assert.equal(end, '--')
  assert.equal((await ask('GET', `${pathOf('parts')}?open_revs=all`)).json[0].ok._rev, rev)
  assert.deepEqual((await ask('GET', `${pathOf('missing')}?open_revs=all`)).json, [])
  assertRefused(await ask('GET', `${pathOf('parts')}?open_revs=x`), 400, 'bad_request')
})

test('_revs_diff lists the revisions that are missing here', async () => {
  const rev = await add('compared')
  const newer = `2-${'0'.repeat(32)}`
  const body = { [idOf('compared')]: [rev, newer], [idOf('unknown')]: [newer] }
  assert.deepEqual((await ask('POST', '/_users/_revs_diff', { body })).json, {
    [idOf('compared')]: { missing: [newer], possible_ancestors: [rev] },
    [idOf('unknown')]: { missing: [newer] },
  })
  assert.deepEqual((await ask('POST', '/_users/_missing_revs', { body })).json, {
    missing_revs: { [idOf('compared')]: [newer], [idOf('unknown')]: [newer] },
  })
})

test('replicating into the database is rejected', async () => {
  const docs = [{ _id: idOf('in'), _rev: `5-${'a'.repeat(32)}`, name: 'in', type: 'user', roles: [] }]
  assertRefused(await ask('POST', '/_users/_bulk_docs', { body: { docs, new_edits: false } }), 403, 'forbidden')
  assertRefused(await ask('PUT', `${pathOf('in')}?new_edits=false`, { body: docs[0] }), 403, 'forbidden')
  assertRefused(await ask('GET', pathOf('in')), 404, 'not_found', 'missing')
})

test('_bulk_docs returns a result for each document', async () => {
  const rev = await add('known')
  const user = (name: string, members = {}) => ({ _id: idOf(name), name, type: 'user', roles: [], ...members })
  const docs = [
    user('fresh', { password: 'x' }),
    user('known'),
    { _id: idOf('known'), _rev: rev, _deleted: true },
    user('wrong', { roles: 'x' }),
    user('fresh'),
    { name: 'without id' },
    { _id: '_local/note' },
  ]
  const { status, json } = await ask('POST', '/_users/_bulk_docs', { body: { docs } })
  assert.equal(status, 201)
  assert.deepEqual(
    json.map(({ ok, error }: { ok?: boolean; error?: string }) => ok ?? error),
    [true, 'conflict', true, 'forbidden', 'conflict', 'forbidden', 'illegal_docid'],
  )
  assert.equal(json[3].reason, 'doc.roles must be an array')
  assert.match(json[5].id, /^[0-9a-f]{32}$/)
})

const MALFORMED: readonly { path: string; body: unknown }[] = [
  { path: '_bulk_docs', body: {} },
  { path: '_bulk_docs', body: { docs: {} } },
  { path: '_bulk_docs', body: { docs: [1] } },
  { path: '_bulk_docs', body: { docs: [], new_edits: 'false' } },
  { path: '_bulk_docs', body: { docs: [], new_edits: 0 } },
  { path: '_bulk_docs', body: { docs: [], all_or_nothing: true } },
  { path: '_bulk_get', body: { docs: [{}] } },
  { path: '_bulk_get', body: { docs: [{ id: 'x', rev: 7 }] } },
  { path: '_bulk_get', body: [] },
  { path: '_revs_diff', body: { x: ['1'] } },
  { path: '_revs_diff', body: { x: {} } },
  { path: '_missing_revs', body: { x: [null] } },
  { path: '_all_docs', body: { keys: 'x' } },
  { path: '_changes?filter=_doc_ids', body: { doc_ids: 'x' } },
  { path: '_changes?filter=_selector', body: { selector: [] } },
  { path: '_bulk_docs', body: '{"docs":[],"docs":[]}' },
]

for (const { path, body } of MALFORMED) {
  test(`rejected: ${path} with ${JSON.stringify(body)}`, async () => {
    assertRefused(await ask('POST', `/_users/${path}`, { body }), 400, 'bad_request')
  })
}

for (const path of ['_bulk_docs', '_bulk_get', '_revs_diff', '_missing_revs', '_all_docs', '_ensure_full_commit']) {
  test(`rejected: ${path} with the content type of a form`, async () => {
    const headers = { 'Content-Type': 'text/plain' }
    assertRefused(await ask('POST', `/_users/${path}`, { body: '{}', headers }), 415, 'bad_content_type')
    if (path !== '_all_docs') assertRefused(await ask('GET', `/_users/${path}`), 405, 'method_not_allowed')
  })
}
