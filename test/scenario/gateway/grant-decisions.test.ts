// Every endpoint of CouchDB, with every method and level of grants, at a server with enforced grants.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type DecisionRow,
  decide,
  type Level,
  SERVER_PATHS,
  takeTurns,
} from '../../modules/document-grants/decisions.ts'
import { basic, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend } from '../../support/upstream.ts'

const backend = await openBackend({ after }, (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"ok":true}')
})
const start = (document: Readonly<Record<string, string>>) =>
  startServer({ after }, beforeDocument(backend.url), { document, upstream: { 'document-rewrites': true } })
const enforced = await start({ grants: 'enforce' })
const closed = await start({ grants: 'enforce', 'grants-others': 'none' })
const off = await start({ grants: 'off' })

const LEVELS: readonly Level[] = ['none', 'ro', 'rw']
for (const { cardea } of [enforced, off])
  for (const level of LEVELS) {
    const grants = level === 'none' ? {} : { shop: level, 'a/b': level }
    await cardea.users.create({ name: level, password: 'pw', grants })
  }

type Sent = Pick<DecisionRow, 'method' | 'path' | 'headers' | 'body'>

/** The status of a refusal; `undefined`: the database received the request, as it was sent. */
async function findRefusal({ document }: typeof enforced, as: string | undefined, sent: Sent) {
  const { method, path, headers, body } = sent
  backend.seen.length = 0
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const { status } = await send(document, { ...(as && { as }), method, path, headers, ...(hasBody && { body }) })
  const [seen] = backend.seen
  if (!seen) return status
  assert.deepEqual([backend.seen.length, seen.method, seen.url], [1, method, path])
  return undefined
}

const describe = ({ method, path, headers }: Sent) => `${method} ${path} ${Object.values(headers).join(' ')}`

for (const [turn, level] of LEVELS.entries())
  test(`a user with ${level}`, async () => {
    const wrong: unknown[] = []
    const rows = takeTurns(turn)
    assert.ok(rows.length > 500, 'no endpoint is left out')
    for (const row of rows) {
      const found = await findRefusal(enforced, basic(level, 'pw'), row)
      if (found !== decide(level, row)) wrong.push([describe(row), found])
    }
    assert.deepEqual(wrong, [])
  })

test('an anonymous request, if CouchDB decides about others, and if they find no database', async () => {
  const wrong: unknown[] = []
  for (const row of takeTurns(LEVELS.length)) {
    const open = row.isForAdmins ? 401 : undefined
    const found = await findRefusal(enforced, undefined, row)
    if (found !== open) wrong.push([describe(row), found])
    const refused = await findRefusal(closed, undefined, row)
    if (refused !== decide('none', row)) wrong.push([describe(row), refused, 'others find no database'])
  }
  assert.deepEqual(wrong, [])
})

test('paths of the server are as without grants, except what starts replications', async () => {
  const wrong: unknown[] = []
  for (const path of SERVER_PATHS)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
      for (const level of LEVELS) {
        const sent = { method, path, headers: {}, body: '{}' }
        const as = basic(level, 'pw')
        const expected = /^\/_replicat/.test(path) ? 401 : await findRefusal(off, as, sent)
        const found = await findRefusal(enforced, as, sent)
        if (found !== expected) wrong.push([describe(sent), level, found, expected])
      }
  assert.deepEqual(wrong, [])
})
