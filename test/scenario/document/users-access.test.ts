import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ANONYMOUS, assertRefused, createUsersServer, idOf, pathOf } from './users-server.ts'

const ADA = 'ada:ada-pw'

suite('by default', () => {
  const { ask, add, get, change, signIn } = createUsersServer()

  test('a user sees its own document whole and no others', async () => {
    await add('ada', { roles: ['math'] })
    await add('bob')
    const own = await get('ada', { as: ADA })
    assert.equal(own.status, 200)
    assert.ok('derived_key' in own.json)
    assertRefused(await get('bob', { as: ADA }), 404, 'not_found', 'missing')
    assertRefused(await get('missing', { as: ADA }), 404, 'not_found', 'missing')
    assertRefused(await get('ada', { as: ANONYMOUS }), 404, 'not_found', 'missing')
  })

  test('only administrators may list documents, changes and local documents', async () => {
    for (const path of ['_all_docs', '_changes', '_local/x', '_local%2Fx', '_all_docs/queries']) {
      for (const as of [ADA, ANONYMOUS]) {
        const answer = await ask('GET', `/_users/${path}`, { as })
        assertRefused(answer, 401, 'unauthorized', 'You are not a server admin.')
      }
    }
  })

  test('the database can be neither created nor deleted', async () => {
    for (const method of ['PUT', 'DELETE']) {
      for (const as of [ADA, ANONYMOUS]) assertRefused(await ask(method, '/_users', { as }), 401, 'unauthorized')
    }
    const reason = 'The database could not be created, the file already exists.'
    assertRefused(await ask('PUT', '/_users'), 412, 'file_exists', reason)
    assertRefused(await ask('DELETE', '/_users'), 403, 'forbidden')
    const security = "You can't edit the security object of the user database."
    for (const as of [undefined, ADA, ANONYMOUS]) {
      const options = { body: {}, ...(as === undefined ? {} : { as }) }
      assertRefused(await ask('PUT', '/_users/_security', options), 403, 'forbidden', security)
    }
    assert.equal((await ask('GET', '/_users', { as: ADA })).json.db_name, '_users')
  })

  test('administrators can read the design document, and it cannot be changed', async () => {
    const closed = 'Only administrators can view design docs in the users database.'
    assertRefused(await ask('GET', '/_users/_design/_auth', { as: ADA }), 403, 'forbidden', closed)
    const { json } = await ask('GET', '/_users/_design/_auth')
    assert.equal(json.language, 'javascript')
    assertRefused(await ask('PUT', '/_users/_design/_auth', { body: json }), 403, 'forbidden')
    assertRefused(await ask('PUT', '/_users/_design/other', { body: {}, as: ADA }), 403, 'forbidden')
    assertRefused(await ask('GET', '/_users/_design/other'), 404, 'not_found', 'missing')
  })

  test('a user can change the members of its own document, not roles and stored password', async () => {
    await add('eve', { roles: ['a', 'b'] })
    const as = 'eve:eve-pw'
    assert.equal((await change('eve', { nick: 'E', roles: ['b', 'a'] }, as)).status, 201)
    assertRefused(await change('eve', { roles: ['a'] }, as), 403, 'forbidden', 'Only _admin may edit roles')
    const hash = 'Only _admin may change the members of a stored password.'
    assertRefused(await change('eve', { iterations: 2 }, as), 403, 'forbidden', hash)
    assertRefused(
      await change('eve', { derived_key: undefined, password_scheme: undefined }, as),
      403,
      'forbidden',
      hash,
    )
    const weak = { password: 'x', salt: '', preserve_salt: true }
    assertRefused(await change('eve', weak, as), 403, 'forbidden', hash)
    assert.equal((await change('eve', { password: 'new' }, as)).status, 201)
    assert.deepEqual([await signIn('eve', 'eve-pw'), await signIn('eve', 'new')], [401, 200])
  })

  test('the document of another user looks missing, with every method', async () => {
    const { json } = await get('bob')
    assertRefused(await ask('PUT', pathOf('bob'), { as: ADA, body: json }), 404, 'not_found', 'missing')
    assertRefused(await ask('DELETE', `${pathOf('bob')}?rev=${json._rev}`, { as: ADA }), 404, 'not_found', 'missing')
    assertRefused(await ask('POST', '/_users/_bulk_docs', { as: ADA, body: { docs: [json] } }), 404, 'not_found')
    const options = { as: ADA, body: { docs: [{ id: idOf('bob') }, { id: idOf('ada') }] } }
    const { results } = (await ask('POST', '/_users/_bulk_get', options)).json
    assert.equal(results[0].docs[0].error.reason, 'missing')
    assert.equal(results[1].docs[0].ok.name, 'ada')
    const diff = await ask('POST', '/_users/_revs_diff', { as: ADA, body: { [idOf('bob')]: [json._rev] } })
    assert.deepEqual(diff.json, { [idOf('bob')]: { missing: [json._rev] } })
  })

  test('a user can delete its own document, and sign-up is closed', async () => {
    const rev = await add('leaver')
    assert.equal((await ask('DELETE', `${pathOf('leaver')}?rev=${rev}`, { as: 'leaver:leaver-pw' })).status, 200)
    const body = { name: 'leaver', type: 'user', roles: [], password: 'x' }
    for (const method of ['PUT', 'DELETE']) {
      assertRefused(await ask(method, pathOf('leaver'), { as: ANONYMOUS, body }), 401, 'unauthorized')
    }
    assertRefused(await ask('POST', '/_users', { as: ANONYMOUS, body }), 401, 'unauthorized')
  })
})

suite('with users_db_public and public_fields', () => {
  const options = { users_db_public: true, public_fields: 'nick, derived_key, totp' }
  const { ask, add, get } = createUsersServer({ chttpd_auth: options })

  test('other users see the public fields, never members of the password', async () => {
    await add('ada', { nick: 'A', totp: { key: 'JBSWY3DP' } })
    await add('bob')
    const { json, headers } = await get('ada', { as: ANONYMOUS })
    assert.deepEqual(Object.keys(json), ['_id', '_rev', 'nick'])
    assert.notEqual(headers.etag, (await get('ada')).headers.etag)
    assertRefused(await get('bob', { as: ANONYMOUS }), 404, 'not_found', 'missing')
  })

  test('the ETag of a public document differs from that of the whole one', async () => {
    const { etag = '' } = (await get('ada')).headers
    const answer = await get('ada', { as: ANONYMOUS, headers: { 'If-None-Match': etag } })
    assert.equal(answer.status, 200)
  })

  test('lists contain the public fields of other users', async () => {
    const { json } = await ask('GET', '/_users/_all_docs?include_docs=true', { as: ANONYMOUS })
    assert.deepEqual(
      json.rows.map(({ id, doc }: { id: string; doc: object }) => [id, Object.keys(doc)]),
      [[idOf('ada'), ['_id', '_rev', 'nick']]],
    )
    const body = { keys: [idOf('bob'), idOf('ada')] }
    const { rows } = (await ask('POST', '/_users/_all_docs', { as: ANONYMOUS, body })).json
    assert.deepEqual(rows[0], { key: idOf('bob'), error: 'not_found' })
    assertRefused(await ask('GET', '/_users/_changes', { as: ANONYMOUS }), 401, 'unauthorized')
  })
})

suite('with allow_sign_up', () => {
  const { ask, add, get, signIn } = createUsersServer({ chttpd_auth: { allow_sign_up: true } })
  const draft = { name: 'newbie', type: 'user', roles: [], password: 'apple' }

  test('an anonymous client can sign up, once for each name', async () => {
    assert.equal((await ask('PUT', pathOf('newbie'), { as: ANONYMOUS, body: draft })).status, 201)
    assert.equal(await signIn('newbie', 'apple'), 200)
    assertRefused(await ask('PUT', pathOf('newbie'), { as: ANONYMOUS, body: draft }), 409, 'conflict')
    const { json } = await get('newbie')
    const taken = { ...draft, _rev: json._rev, password: 'mine now' }
    const reason = 'You may only update your own user document.'
    assertRefused(await ask('PUT', pathOf('newbie'), { as: ANONYMOUS, body: taken }), 403, 'forbidden', reason)
    const deletion = { _rev: json._rev, _deleted: true }
    assertRefused(await ask('PUT', pathOf('newbie'), { as: ANONYMOUS, body: deletion }), 403, 'forbidden')
    assertRefused(
      await ask('PUT', pathOf('admin'), { as: ANONYMOUS, body: { ...draft, name: 'admin' } }),
      409,
      'conflict',
    )
  })

  test('sign-up rejects roles, stored passwords, bulk writes and large documents', async () => {
    const put = (members: object) => {
      const body = { ...draft, name: 'greedy', ...members }
      return ask('PUT', pathOf('greedy'), { as: ANONYMOUS, body })
    }
    assertRefused(await put({ roles: ['boss'] }), 403, 'forbidden', 'Only _admin may set roles')
    const stored = { password: undefined, password_sha: 'd4b5', salt: 'x' }
    assertRefused(await put(stored), 403, 'forbidden', 'Only _admin may change the members of a stored password.')
    assertRefused(await put({ x: 'x'.repeat(70_000) }), 413, 'document_too_large', idOf('greedy'))
    const docs = [{ ...draft, _id: idOf('many') }]
    assertRefused(await ask('POST', '/_users/_bulk_docs', { as: ANONYMOUS, body: { docs } }), 401, 'unauthorized')
    assertRefused(await get('greedy'), 404, 'not_found', 'missing')
  })

  test('a signed-in user can sign up a new user, and no more', async () => {
    await add('ada')
    await add('bob')
    const body = { ...draft, name: 'friend' }
    const greedy = await ask('PUT', pathOf('friend'), { as: ADA, body: { ...body, roles: ['boss'] } })
    assertRefused(greedy, 403, 'forbidden', 'Only _admin may set roles')
    assert.equal((await ask('PUT', pathOf('friend'), { as: ADA, body })).status, 201)
    assert.equal(await signIn('friend', 'apple'), 200)
    const { json } = await get('bob')
    for (const members of [{}, { _rev: json._rev }, { _rev: json._rev, _deleted: true }]) {
      const answer = await ask('PUT', pathOf('bob'), { as: ADA, body: { ...draft, name: 'bob', ...members } })
      assertRefused(answer, 404, 'not_found', 'missing')
    }
    const docs = [{ ...draft, name: 'many', _id: idOf('many') }]
    assertRefused(await ask('POST', '/_users/_bulk_docs', { as: ADA, body: { docs } }), 404, 'not_found')
  })
})

suite('with another name and leave to delete', () => {
  const options = { chttpd_auth: { authentication_db: 'people' }, couchdb: { users_db_deletable: true } }
  const { ask } = createUsersServer(options)

  test('the database has the configured name, and can be emptied', async () => {
    const docs = Array.from({ length: 7 }, (_none, index) => {
      const name = `user${index}`
      return { _id: idOf(name), name, type: 'user', roles: [] }
    })
    assert.equal((await ask('POST', '/people/_bulk_docs', { body: { docs } })).status, 201)
    assert.equal((await ask('GET', '/people')).json.doc_count, 7)
    assertRefused(await ask('GET', '/people/_all_docs', { as: ANONYMOUS }), 401, 'unauthorized')
    assert.deepEqual((await ask('DELETE', '/people')).json, { ok: true })
    assert.equal((await ask('GET', '/people')).json.doc_count, 0)
    assertRefused(await ask('GET', `/_users/${idOf('user1')}`, { as: ANONYMOUS }), 401, 'unauthorized')
  })
})
