import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { createRelay } from '../../src/http/relay.ts'
import type { RequestContext } from '../../src/http/request-context.ts'

it('a body that this thread must not read fails the request and nothing else', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-relay-'))
  const path = join(folder, 'socket')
  const server = createServer().on('checkContinue', (_request, response) => response.writeContinue())
  server.listen(path)
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })
  const context: Partial<RequestContext> = {
    method: 'PUT',
    target: '/',
    httpVersion: '1.1',
    rawHeaders: ['Host', 'a', 'Content-Length', '9'],
    hasBody: true,
    client: { address: '::1', directAddress: '::1', scheme: 'http', host: 'a', isUnixSocket: false, isTrusted: false },
    onGone: () => {},
    openBody() {
      throw new Refusal('body_too_large')
    },
  }
  // the relay reads only these fields
  const reply = createRelay(path, 'document', () => () => {})(context as RequestContext)
  await assert.rejects(reply, { code: 'body_too_large' })
})
