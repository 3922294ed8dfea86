// The files of the multi-model database's web interface before its login.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { superuser } from '../../support/multi-model.ts'
import { ADMIN, basic, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeMultiModel, openBackend } from '../../support/upstream.ts'

const backend = await openBackend({ after })
const on = { 'multi-model': { 'web-ui-before-login': true } }
const front = await startServer({ after }, beforeMultiModel({ after }, backend.url), on)
const strict = await startServer({ after }, beforeMultiModel({ after }, backend.url), on, {
  server: { 'authentication-system-only': false },
  upstream: { 'multi-model-identity': 'client' },
})
const off = await startServer({ after }, beforeMultiModel({ after }, backend.url))

const FILE = '/_admin/aardvark/index.html'
const WRONG = { Authorization: basic('admin', 'wrong') }
const ANN = { Authorization: basic('ann', 'apple') }
const NOT_HERE = { Authorization: superuser({ allowed_paths: ['/_api/version'] }) }

before(async () => {
  for (const { multiModel } of [front, strict])
    await send(multiModel, {
      method: 'POST',
      path: '/_api/user',
      headers: { ...ADMIN, 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: 'ann', passwd: 'apple' }),
    })
})

interface Row {
  readonly name: string
  readonly of?: typeof front
  readonly method?: string
  readonly path?: string
  readonly as?: Record<string, string>
  readonly status: number
  /** Whether the database receives an identity. */
  readonly isNamed?: boolean
}

const ROWS: readonly Row[] = [
  { name: 'an anonymous request for a file', status: 200 },
  { name: 'HEAD', method: 'HEAD', status: 200 },
  { name: 'with a query', path: `${FILE}?v=1`, status: 200 },
  { name: 'the folder', path: '/_admin/aardvark/', status: 200 },
  { name: 'a deeper file', path: '/_admin/aardvark/static/js/a.js', status: 200 },
  { name: 'in a database', path: `/_db/shop${FILE}`, status: 200 },
  { name: 'under an API version', path: `/_arango/v0${FILE}`, status: 200 },
  { name: 'where every path needs a credential', of: strict, status: 200 },
  { name: 'a wrong password is not forwarded', as: WRONG, status: 200 },
  { name: 'a wrong password is not forwarded as the client sent it', of: strict, as: WRONG, status: 200 },
  { name: 'a user without a grant is not named', as: ANN, status: 200 },
  { name: 'the credential of a user without a grant is not forwarded', of: strict, as: ANN, status: 200 },
  { name: 'a user with access is named', as: ADMIN, status: 200, isNamed: true },
  { name: 'a token for other paths', as: NOT_HERE, status: 401 },
  { name: 'POST', method: 'POST', status: 401 },
  { name: 'PUT', method: 'PUT', status: 401 },
  { name: 'DELETE', method: 'DELETE', status: 401 },
  { name: 'the name without a slash', path: '/_admin/aardvark', status: 401 },
  { name: 'a name that begins alike', path: '/_admin/aardvarks/index.html', status: 401 },
  { name: 'another case', path: '/_admin/Aardvark/index.html', status: 401 },
  { name: 'another path below /_admin', path: '/_admin/status', status: 401 },
  { name: 'a path out of the tree', path: '/_admin/aardvark/../status', status: 400 },
  { name: 'an encoded path out of the tree', path: '/_admin/aardvark/%2e%2e/status', status: 400 },
  { name: 'an encoded slash', path: '/_admin/aardvark%2findex.html', status: 400 },
  { name: 'the option is off by default', of: off, status: 401 },
]

for (const { name, of = front, method = 'GET', path = FILE, as = {}, status, isNamed = false } of ROWS)
  test(`web interface before login, ${name}: ${status}`, async () => {
    const seenBefore = backend.seen.length
    const answer = await send(of.multiModel, { method, path, headers: as })
    assert.equal(answer.status, status, answer.body)
    const seen = backend.seen.slice(seenBefore).find(({ url }) => url === path)
    assert.equal(seen !== undefined, status === 200)
    if (seen) assert.equal(seen.header('authorization') !== undefined, isNamed)
  })
