// Pages of the databases share the origin of /_cardea/: they must not run script there.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ADMIN, send } from '../../support/request.ts'
import { type AnyOptions, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../../support/upstream.ts'

const scope = { after }
const OWN = "default-src * 'unsafe-inline'"
const backend = await openBackend(scope, (request, response) => {
  const own = request.url?.includes('policy=own') ? { 'Content-Security-Policy': OWN } : {}
  if (request.headers['if-none-match']) response.writeHead(304, own).end()
  else response.writeHead(200, { 'Content-Type': 'text/html', ...own }).end('<script>alert(1)</script>')
})
const BOTH: readonly AnyOptions[] = [beforeDocument(backend.url), beforeMultiModel(scope, backend.url)]
const service = { services: { app: `/app ${backend.url}` } }
const front = await startServer(scope, ...BOTH, service)

const policyOf = async (url: string, path: string): Promise<string | undefined> => {
  const answer = await send(url, { path, headers: ADMIN })
  assert.equal(answer.status, 200, answer.body)
  return answer.lines['content-security-policy']?.join('\n')
}

const ROWS: readonly [door: 'document' | 'multiModel', path: string, policy: string | undefined][] = [
  ['document', '/db/doc/page.html', 'sandbox'],
  ['document', '/_utils/index.html', undefined],
  ['document', '/_utilsx/index.html', 'sandbox'],
  ['document', '/db/_utils/index.html', 'sandbox'],
  ['multiModel', '/_db/_system/some/foxx', 'sandbox'],
  ['multiModel', '/_admin/aardvark/index.html', undefined],
  ['multiModel', '/_db/_system/_admin/aardvark/index.html', undefined],
  ['multiModel', '/_admin/echo', 'sandbox'],
  ['multiModel', '/app/index.html', undefined],
  ['document', '/db/doc/page.html?policy=own', `sandbox\n${OWN}`],
  ['multiModel', '/_db/_system/some/foxx?policy=own', `sandbox\n${OWN}`],
  ['document', '/_utils/index.html?policy=own', OWN],
  ['multiModel', '/app/index.html?policy=own', OWN],
]

for (const [door, path, policy] of ROWS)
  test(`${door} door: HTML at ${path} is ${policy?.startsWith('sandbox') ? 'sandboxed' : 'forwarded unchanged'}`, async () =>
    assert.equal(await policyOf(front[door], path), policy))

for (const [door, path] of [
  ['document', '/db/doc/page.html'],
  ['multiModel', '/_db/_system/some/foxx'],
] as const)
  test(`${door} door: a 304 does not take the sandbox from a cached page`, async () => {
    const headers = { ...ADMIN, 'If-None-Match': '"a"' }
    const answer = await send(front[door], { path: `${path}?policy=own`, headers })
    assert.equal(answer.status, 304)
    assert.deepEqual(answer.lines['content-security-policy'], ['sandbox', OWN])
  })

test('upstream.sandbox = false forwards every page unchanged', async (t) => {
  const open = await startServer(t, ...BOTH, { upstream: { sandbox: false } })
  assert.equal(await policyOf(open.document, '/db/doc/page.html'), undefined)
  assert.equal(await policyOf(open.multiModel, '/_db/_system/some/foxx'), undefined)
})
