import assert from 'node:assert/strict'
import { request } from 'node:http'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { basic } from '../../support/request.ts'
import { ADMIN, ANONYMOUS, createUsersServer, idOf } from './users-server.ts'

const server = createUsersServer({
  chttpd_auth: { allow_sign_up: true, users_db_public: true, public_fields: 'nick' },
})
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 400)
/** Longer than any feed in this test may wait. */
const MAX_MS = 5000

before(() => server.add('ada'))

const REVISION = fc.oneof(
  fc.constantFrom('', '1', '0-1', '1-x', `1-${'0'.repeat(32)}`, `99999999999999999-${'0'.repeat(32)}`),
  fc.string({ maxLength: 8 }),
)
const ID = fc.oneof(
  fc.constantFrom(
    idOf('ada'),
    idOf('bob'),
    idOf(''),
    '_design/_auth',
    '_local/x',
    '_odd',
    'plain',
    '..',
    '%',
    '__proto__',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map(idOf),
  fc.string({ unit: ANY_CHARACTER, maxLength: 6 }),
)
const ENDPOINT = fc.constantFrom(
  '_all_docs',
  '_bulk_docs',
  '_bulk_get',
  '_changes',
  '_ensure_full_commit',
  '_missing_revs',
  '_revs_diff',
  '_security',
  '_design/_auth',
  '_local/x',
)
const PATH = fc.oneof(
  fc.constant('/_users'),
  ENDPOINT.map((name) => `/_users/${name}`),
  ID.map((id) => `/_users/${encodeURIComponent(id.toWellFormed())}`),
  fc.tuple(ENDPOINT, ID).map(([name, id]) => `/_users/${name}/${encodeURIComponent(id.toWellFormed())}`),
  fc.constantFrom('/_users/', '/_users//', '/_users/%00', '/_users/%', '/_users/%FF', '/_users/.', '/_users/a/b/c/d'),
)

const JSON_TEXT = fc.oneof(
  fc.json({ maxDepth: 3 }),
  ID.map((id) => JSON.stringify(id)),
  fc.string({ maxLength: 5 }),
)
const PARAMETER = fc.oneof(
  fc.tuple(
    fc.constantFrom('startkey', 'endkey', 'start_key', 'end_key', 'key', 'keys', 'open_revs', 'doc_ids'),
    JSON_TEXT,
  ),
  fc.tuple(
    fc.constantFrom('limit', 'skip', 'since', 'seq_interval'),
    fc.constantFrom('0', '1', '2', '-1', '1e9', 'x', '', '999999999999999', '99999999999999999999', 'now'),
  ),
  fc.tuple(
    fc.constantFrom('descending', 'include_docs', 'inclusive_end', 'revs', 'revs_info', 'latest', 'meta', 'new_edits'),
    fc.constantFrom('true', 'false', '', 'yes'),
  ),
  fc.tuple(fc.constantFrom('rev', 'atts_since'), REVISION),
  fc.tuple(fc.constant('feed'), fc.constantFrom('normal', 'longpoll', 'continuous', 'eventsource', 'x')),
  fc.tuple(fc.constant('filter'), fc.constantFrom('_doc_ids', '_selector', '_design', '_view', 'a/b', '')),
)
const QUERY = fc
  .array(PARAMETER, { maxLength: 4 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&'))

const MEMBER = fc.constantFrom(
  ...[
    '_id',
    '_rev',
    '_deleted',
    '_attachments',
    'name',
    'type',
    'roles',
    'password',
    'password_scheme',
    'salt',
    'totp',
  ],
  ...[
    'iterations',
    'derived_key',
    'password_sha',
    'preserve_salt',
    'pbkdf2_prf',
    'docs',
    'keys',
    'selector',
    'doc_ids',
  ],
  ...['__proto__', 'toString', 'new_edits', 'limit', 'id', 'rev'],
)
const GOOD = fc.constantFrom<Record<string, unknown>>(
  { _id: idOf('bob'), name: 'bob', type: 'user', roles: [], password: 'x' },
  { _id: idOf('ada'), name: 'ada', type: 'user', roles: ['r'], nick: 'A' },
  { docs: [{ _id: idOf('bob'), name: 'bob', type: 'user', roles: [] }, { id: idOf('ada') }] },
  { keys: [idOf('ada'), 1] },
  { doc_ids: [idOf('ada')] },
  { selector: { $or: [{ name: 'ada' }, { nick: { $gt: null } }] } },
  { [idOf('ada')]: [`1-${'0'.repeat(32)}`] },
)
/** A valid body with some members replaced by arbitrary values. */
const MUTATED = fc
  .tuple(GOOD, fc.array(fc.tuple(MEMBER, fc.jsonValue({ maxDepth: 3 })), { maxLength: 3 }))
  .map(([good, members]) => JSON.stringify(Object.fromEntries([...Object.entries(good), ...members])))
const BODY = fc.option(
  fc.oneof(
    { weight: 4, arbitrary: MUTATED.map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)) },
  ),
  { nil: undefined },
)
const HEADERS = fc.record(
  {
    'Content-Type': fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain', ''),
    'If-Match': REVISION.map(toHeaderText),
    'If-None-Match': REVISION.map(toHeaderText),
    Accept: fc.constantFrom('application/json', 'multipart/mixed', '*/*'),
    'Last-Event-ID': REVISION.map(toHeaderText),
  },
  { requiredKeys: ['Content-Type'] },
)

const REQUEST = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'COPY'),
  path: PATH,
  query: QUERY,
  headers: HEADERS,
  body: BODY,
  as: fc.constantFrom(ADMIN, ADMIN, 'ada:ada-pw', ANONYMOUS),
})

type Request = typeof REQUEST extends fc.Arbitrary<infer T> ? T : never

function toHeaderText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?')
}

async function answerTo({ method, path, query, headers, body, as }: Request): Promise<number> {
  const { url } = await server.started
  const [name = '', password = ''] = as.split(':')
  const credential = as === ANONYMOUS ? {} : { Authorization: basic(name, password) }
  // without it Node would send the body of a GET as if it were another request
  const length = body === undefined ? {} : { 'Content-Length': String(body.length) }
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}${path}?${query}&timeout=1`,
      { method, headers: { ...headers, ...credential, ...length }, agent: false, timeout: MAX_MS },
      (response) => {
        response
          .resume()
          .on('end', () => resolve(response.statusCode ?? 0))
          .on('error', reject)
      },
    )
    sent
      .on('timeout', () => sent.destroy(new Error('no answer in time')))
      .on('error', reject)
      .end(body)
  })
}

test('every request to the users database gets a response that is not a 500', async () => {
  const statuses = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(REQUEST, async (sent) => {
      const status = await answerTo(sent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      assert.ok(status >= 200 && status < 500, `${status}`)
    }),
    { numRuns: RUNS },
  )
  assert.ok((statuses.get(200) ?? 0) > RUNS / 50, `too few good requests: ${JSON.stringify([...statuses])}`)
  assert.equal((await server.ask('GET', '/_users')).status, 200)
})
