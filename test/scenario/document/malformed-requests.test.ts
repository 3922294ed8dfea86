// Requests that CouchDB answers in another way: docs/reference/document-door.md lists them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendRaw } from '../../support/raw.ts'
import { AS_ADMIN } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend } from '../../support/upstream.ts'

const scope = createSharedScope()
const upstream = openBackend(scope)
const front = upstream.then(({ url }) => startServer(scope, beforeDocument(url)))

const JSON_BODY = ['Content-Type: application/json', 'Content-Length: 4']

const ROWS: readonly { line: string; headers?: readonly string[]; body?: string; status: number; error: string }[] = [
  { line: 'FOO /db/doc', status: 400, error: 'bad_request' },
  { line: 'TRACE /db/doc', status: 405, error: 'method_not_allowed' },
  { line: 'GET /db/bad%ff', status: 400, error: 'bad_request' },
  { line: 'GET /db/a%00b', status: 400, error: 'bad_request' },
  { line: 'GET /db/a%00b', headers: [`Authorization: ${AS_ADMIN}`], status: 400, error: 'bad_request' },
  { line: 'POST /_replicate', headers: JSON_BODY, body: '{bad', status: 401, error: 'unauthorized' },
]

for (const { line, headers = [], body = '', status, error } of ROWS)
  test(`${line} ${headers.length > 0 ? `with ${headers[0]?.split(':')[0]} ` : ''}is ${status}, and reaches no database`, async () => {
    const port = Number(new URL((await front).document).port)
    const reply = await sendRaw(port, [`${line} HTTP/1.1`, 'Host: a', ...headers, '', body].join('\r\n'))
    assert.deepEqual([reply.status, JSON.parse(reply.body).error], [status, error])
    assert.deepEqual((await upstream).seen, [])
  })
