import assert from 'node:assert/strict'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { suite, test } from 'node:test'
import { createSqlitePlace } from '../../store/places.ts'
import { loseWrites } from '../../support/lose-writes.ts'
import { basic } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { ADMIN, assertRefused, createUsersServer, idOf, pathOf } from './users-server.ts'

type Server = ReturnType<typeof createUsersServer>

/** Reads a feed line by line. */
async function openFeed({ started }: Server, query: string, as = ADMIN) {
  const [name = '', password = ''] = as.split(':')
  const headers = { Authorization: basic(name, password) }
  const { url } = await started
  let sent: ClientRequest | undefined
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent = request(`${url}/_users/_changes?${query}`, { headers, agent: false }, resolve)
    sent.on('error', reject).end()
  })
  const lines = readLines(response)
  return {
    response,
    next: async () => (await lines.next()).value as string | undefined,
    close: () => sent?.destroy(),
  }
}

async function* readLines(response: IncomingMessage): AsyncGenerator<string, void> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      yield text.slice(0, end)
      text = text.slice(end + 1)
    }
  }
}

const idsOf = (json: { results: { id: string }[] }): string[] => json.results.map(({ id }) => id)

suite('normal feeds', () => {
  const { ask, add, change } = createUsersServer()

  test('each user is listed once, at its latest change, deletions included', async () => {
    await add('a')
    const rev = await add('b')
    await add('c')
    await change('a', { nick: 'A' })
    const deleted = await ask('DELETE', `${pathOf('b')}?rev=${rev}`)
    const { json } = await ask('GET', '/_users/_changes')
    assert.deepEqual(idsOf(json), [idOf('c'), idOf('a'), idOf('b')])
    assert.deepEqual(json.results[2].changes, [{ rev: deleted.json.rev }])
    assert.equal(json.results[2].deleted, true)
    assert.deepEqual([json.last_seq, json.pending], [json.results[2].seq, 0])
  })

  test('since, limit and pending page through the changes', async () => {
    const first = (await ask('GET', '/_users/_changes?limit=1')).json
    assert.deepEqual(idsOf(first), [idOf('c')])
    assert.ok(first.pending >= 2)
    const rest = (await ask('GET', `/_users/_changes?since=${first.last_seq}`)).json
    assert.deepEqual(idsOf(rest), [idOf('a'), idOf('b')])
    const quoted = encodeURIComponent(JSON.stringify(rest.last_seq))
    assert.deepEqual((await ask('GET', `/_users/_changes?since=${quoted}`)).json.results, [])
    assert.deepEqual((await ask('GET', '/_users/_changes?since=now')).json.results, [])
    const none = (await ask('GET', `/_users/_changes?limit=0&since=${first.last_seq}`)).json
    assert.deepEqual([none.results, none.last_seq, none.pending >= 2], [[], first.last_seq, true])
  })

  test('a sequence of another server, or from the future, starts from the beginning', async () => {
    for (const since of [`2-${'f'.repeat(32)}`, '999999999']) {
      assert.equal((await ask('GET', `/_users/_changes?since=${since}`)).json.results.length, 3)
    }
  })

  test('descending', async () => {
    const { json } = await ask('GET', '/_users/_changes?descending=true')
    assert.deepEqual(idsOf(json), [idOf('b'), idOf('a'), idOf('c')])
    assert.deepEqual(idsOf((await ask('GET', '/_users/_changes?descending=true&limit=1')).json), [idOf('b')])
  })

  test('include_docs', async () => {
    const { json } = await ask('GET', '/_users/_changes?include_docs=true')
    assert.equal(json.results[1].doc.nick, 'A')
    assert.deepEqual(Object.keys(json.results[2].doc), ['_id', '_rev', '_deleted'])
  })

  test('built-in filters', async () => {
    const post = async (filter: string, body: object) =>
      (await ask('POST', `/_users/_changes?filter=${filter}`, { body })).json
    assert.deepEqual(idsOf(await post('_doc_ids', { doc_ids: [idOf('a'), 'x'] })), [idOf('a')])
    assert.deepEqual(idsOf(await post('_selector', { selector: { nick: { $gt: 'A' } } })), [])
    assert.deepEqual(idsOf(await post('_selector', { selector: { nick: 'A' } })), [idOf('a')])
    assert.deepEqual(idsOf(await post('_selector', { selector: { _deleted: true } })), [idOf('b')])
    assert.deepEqual(idsOf(await post('_design', {})), [])
    const ids = encodeURIComponent(JSON.stringify([idOf('c')]))
    const { json } = await ask('GET', `/_users/_changes?filter=_doc_ids&doc_ids=${ids}`)
    assert.deepEqual(idsOf(json), [idOf('c')])
    assertRefused(await ask('GET', '/_users/_changes?filter=app/mine'), 404, 'not_found')
    assertRefused(await ask('GET', '/_users/_changes?filter=_doc_ids'), 400, 'bad_request')
    const regex = { selector: { name: { $regex: '(a+)+$' } } }
    assertRefused(await ask('POST', '/_users/_changes?filter=_selector', { body: regex }), 400, 'bad_request')
  })

  const FEEDS = 'Supported `feed` types: normal, continuous, live, longpoll, eventsource'
  const FORM = '`filter` must be of the form `designname/filtername`'
  const POSITIVE = 'The heartbeat value should be a positive integer (in milliseconds).'
  const NO_IDS = '`doc_ids` filter parameter is not a list of doc ids.'
  for (const [query, error, reason] of [
    ['since=x', 'bad_request', "Malformed sequence supplied in 'since' parameter."],
    ['feed=odd', 'bad_request', FEEDS],
    ['feed=', 'bad_request', FEEDS],
    ['limit=-1', 'query_parse_error', 'Invalid value for positive integer: "-1"'],
    ['heartbeat=0', 'bad_request', POSITIVE],
    ['heartbeat=-1', 'bad_request', POSITIVE],
    ['heartbeat=x', 'bad_request', 'Invalid heartbeat value. Expecting a positive integer value (in milliseconds).'],
    ['timeout=x', 'query_parse_error', 'Invalid value for integer: "x"'],
    ['include_docs=1', 'query_parse_error', 'Invalid boolean parameter: "1"'],
    ['seq_interval=0', 'bad_request', 'invalid_seq_interval'],
    ['filter=x', 'bad_request', FORM],
    ['filter=a/b/c', 'bad_request', FORM],
    ['filter=_x', 'bad_request', 'unknown builtin filter name'],
    ['filter=_selector', 'bad_request', 'Selector must be specified in POST payload'],
    ['filter=_doc_ids', 'bad_request', NO_IDS],
    ['filter=_doc_ids&doc_ids=[7]', 'bad_request', NO_IDS],
    ['filter=_doc_ids&doc_ids=x', 'bad_request', 'invalid UTF-8 JSON'],
  ] as const) {
    test(`rejected: ${query}`, async () => {
      const { status, json } = await ask('GET', `/_users/_changes?${query}`)
      assert.deepEqual([status, json], [400, { error, reason }])
    })
  }

  test('an empty filter selects all, and the body ends as that of CouchDB', async () => {
    assert.match(
      (await ask('GET', '/_users/_changes?filter=&limit=1')).body,
      /^\{"results":\[\n.*\n\],\n"last_seq":.*\}\n\n$/,
    )
  })
})

suite('feeds that wait', () => {
  const server = createUsersServer()
  const { ask, add, change } = server

  test('a long poll returns the next change', async () => {
    await add('early')
    const feed = await openFeed(server, 'feed=longpoll&since=now')
    assert.equal(await feed.next(), '{"results":[')
    await add('later')
    assert.match((await feed.next()) ?? '', /org\.couchdb\.user:later/)
    assert.equal(await feed.next(), '],')
    assert.match((await feed.next()) ?? '', /"last_seq":"\d+-[0-9a-f]{32}","pending":0/)
    assert.deepEqual([await feed.next(), await feed.next()], ['', undefined])
  })

  test('a long poll returns existing changes at once, and ends at the timeout without any', async () => {
    assert.equal((await ask('GET', '/_users/_changes?feed=longpoll')).json.results.length, 2)
    const { json } = await ask('GET', '/_users/_changes?feed=longpoll&since=now&timeout=1')
    assert.deepEqual(json.results, [])
  })

  test('a continuous feed sends each change, and heartbeats in between', async () => {
    const feed = await openFeed(server, 'feed=continuous&since=now&heartbeat=100')
    assert.equal(await feed.next(), '')
    await add('one')
    assert.match(await nextChange(feed), /user:one/)
    await change('one', { nick: '1' })
    assert.match(await nextChange(feed), /"rev":"2-/)
    feed.close()
  })

  test('a continuous feed ends at its limit, or after the timeout without changes', async () => {
    const limited = await ask('GET', '/_users/_changes?feed=continuous&limit=1')
    assert.equal(limited.body.trim().split('\n').length, 2)
    const silent = await ask('GET', '/_users/_changes?feed=continuous&since=now&timeout=1')
    assert.match(silent.body, /^\{"last_seq":"\d+-[0-9a-f]{32}","pending":0\}\n$/)
  })

  test('an eventsource feed sends events and resumes at Last-Event-ID', async () => {
    const feed = await openFeed(server, 'feed=eventsource&heartbeat=100')
    assert.equal(feed.response.headers['content-type'], 'text/event-stream')
    const [data, id] = [await feed.next(), await feed.next()]
    assert.match(data ?? '', /^data: \{"seq"/)
    const sequence = (id ?? '').replace('id: ', '')
    feed.close()
    const headers = { 'Last-Event-ID': sequence }
    const rest = await ask('GET', '/_users/_changes', { headers })
    const all = await ask('GET', '/_users/_changes')
    assert.equal(rest.json.results.length, all.json.results.length - 1)
  })

  test('a feed is cut when its account changes, and the client sees an incomplete response', async () => {
    const boss = { body: '"secret"' }
    assert.equal((await ask('PUT', '/_node/_local/_config/admins/boss', boss)).status, 200)
    const feed = await openFeed(server, 'feed=continuous&since=now&heartbeat=60000', 'boss:secret')
    const broken = assert.rejects(feed.next(), { code: 'ECONNRESET' })
    assert.equal((await ask('DELETE', '/_node/_local/_config/admins/boss')).status, 200)
    await broken
  })

  test('a server with open feeds can be closed', async () => {
    const feed = await openFeed(server, 'feed=continuous&since=now&heartbeat=60000')
    const broken = assert.rejects(feed.next())
    await (await server.started).cardea.close()
    await broken
  })
})

async function nextChange(feed: { next(): Promise<string | undefined> }): Promise<string> {
  for (;;) {
    const line = await feed.next()
    if (line !== '') return line ?? 'the feed ended'
  }
}

suite('feeds after a failover that lost changes', () => {
  const openPlace = async () => {
    const place = await createSqlitePlace()
    createSharedScope().after(place.remove)
    return place
  }
  const opened = openPlace()
  const server = opened.then(({ url }) => createUsersServer({ store: { url } }))

  test('a sequence of the lost history starts from the beginning', async () => {
    const { ask, add } = await server
    await add('kept')
    const { last_seq: kept } = (await ask('GET', '/_users/_changes')).json
    for (const name of ['a', 'b', 'c']) await add(name)
    const { last_seq: lost } = (await ask('GET', '/_users/_changes')).json
    const { update_seq: known } = (await ask('GET', '/_users')).json
    assert.equal(known, lost)
    await loseWrites((await opened).execute, Number.parseInt(kept, 10))
    for (const name of ['d', 'e', 'f', 'g']) await add(name)
    const list = async (since: string) => idsOf((await ask('GET', `/_users/_changes?since=${since}`)).json)
    assert.deepEqual(await list(lost), ['kept', 'd', 'e', 'f', 'g'].map(idOf))
    assert.deepEqual(await list(kept), ['d', 'e', 'f', 'g'].map(idOf))
    assert.deepEqual(await list(`${Number.parseInt(lost, 10)}`), [idOf('g')])
  })

  test('a feed that is open sends all changes of the new history', async () => {
    const { ask, add } = await server
    const { last_seq: kept } = (await ask('GET', '/_users/_changes')).json
    const feed = await openFeed(await server, 'feed=continuous&since=now&heartbeat=100')
    await add('lost')
    assert.match(await nextChange(feed), /user:lost/)
    await loseWrites((await opened).execute, Number.parseInt(kept, 10))
    await add('found')
    assert.match(await nextChange(feed), /user:kept/)
    for (const name of ['d', 'e', 'f', 'g', 'found']) assert.match(await nextChange(feed), new RegExp(`user:${name}"`))
    feed.close()
  })
})
