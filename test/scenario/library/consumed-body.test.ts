import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Cardea, DoorName } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { express, openCardea, serve } from './server.ts'

const SIGN_IN = {
  method: 'POST',
  path: '/_session',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ name: 'ada', password: 'pw' }),
}

const REASON =
  'Another part of this program has read the request body already. Call cardea.handle before express.json() and other body parsers.'

function serveWithParser(scope: Scope, cardea: Cardea, door: DoorName): Promise<string> {
  const app = express()
  app.use(express.json())
  app.use((...[request, response]: Parameters<Cardea['handle']>) => void cardea.handle(request, response, door))
  return serve(scope, app)
}

describe('cardea.handle behind express.json()', () => {
  it('names the cause at the document door', async (t) => {
    const { cardea } = await openCardea(t)
    const answer = await send(await serveWithParser(t, cardea, 'document'), SIGN_IN)
    assert.equal(answer.status, 500)
    assert.deepEqual(JSON.parse(answer.body), { error: 'unknown_error', reason: REASON })
  })

  it('names the cause at the multi-model door and at /_cardea/', async (t) => {
    const { cardea } = await openCardea(t)
    const base = await serveWithParser(t, cardea, 'multi-model')
    const token = await send(base, { ...SIGN_IN, path: '/_open/auth' })
    assert.equal(JSON.parse(token.body).errorMessage, REASON)
    const session = await send(base, { ...SIGN_IN, path: '/_cardea/api/session' })
    assert.deepEqual(JSON.parse(session.body), { error: 'body_consumed', reason: REASON })
  })

  it('serves requests without a body, and bodies that the parser leaves', async (t) => {
    const { cardea } = await openCardea(t)
    const base = await serveWithParser(t, cardea, 'document')
    assert.equal((await send(base, { path: '/_up' })).status, 200)
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    assert.equal((await send(base, { ...SIGN_IN, headers: form, body: 'name=ada&password=pw' })).status, 200)
  })

  it('forwards no empty body in place of one that was read', async (t) => {
    let bodies = 0
    const upstream = await serve(t, (_request, response) => {
      bodies += 1
      response.end('{}')
    })
    const options = { upstream: { document: upstream, 'document-secret': 'a-secret-the-upstream-shares' } }
    const { cardea } = await openCardea(t, options)
    const base = await serveWithParser(t, cardea, 'document')
    const answer = await send(base, { ...SIGN_IN, path: '/db' })
    assert.deepEqual([answer.status, JSON.parse(answer.body).reason, bodies], [500, REASON, 0])
  })
})
