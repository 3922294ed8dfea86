// A client whose `url` is not the door that it needs says so, and what to write instead.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { createClient } from '../../client/src/index.ts'
import { serve } from '../scenario/library/server.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const ADA = { name: 'ada', password: 'analytical' }
const CREDENTIALS = ['cookie', 'token'] as const
type Credential = (typeof CREDENTIALS)[number]

function open(scope: Scope, url: string, credential: Credential) {
  const client = createClient({ url, credential })
  scope.after(() => client.close())
  return client
}

const notADoor = (message: RegExp) => ({ name: 'ClientError', code: 'not_a_door', message })

const FOREIGN: Readonly<Record<string, RequestListener>> = {
  'answers everything with a page': (_request, response) => void response.end('<!doctype html>'),
  'answers everything with an object': (_request, response) => void response.end('{}'),
  'answers everything with null': (_request, response) => void response.end('null'),
  'has a session of another kind': (_request, response) => void response.end('{"name":7,"roles":"all"}'),
  'has none of the paths': (_request, response) => void response.writeHead(404).end('Not found'),
  'refuses every client': (_request, response) => void response.writeHead(401).end('Unauthorized'),
}

for (const [name, listener] of Object.entries(FOREIGN))
  for (const credential of CREDENTIALS)
    test(`a server that ${name} is no door: ${credential}`, async (t) => {
      const url = await serve(t, listener)
      await assert.rejects(open(t, url, credential).signIn(ADA), notADoor(/Give the URL of a door of Cardea/))
      if (credential === 'cookie') await assert.rejects(open(t, url, credential).session(), notADoor(/Give the URL/))
    })

for (const credential of CREDENTIALS)
  test(`the path of a database in the URL is named: ${credential}`, async (t) => {
    const deny = { error: 'unauthorized', reason: 'You are not authorized to access this db.' }
    const upstream = await openBackend(t, (_request, response) => {
      response.writeHead(401, { 'Content-Type': 'application/json' }).end(JSON.stringify(deny))
    })
    const { cardea, document } = await startServer(t, beforeDocument(upstream.url))
    await cardea.users.create(ADA)
    const wrong = open(t, `${document}/notes`, credential).signIn(ADA)
    await assert.rejects(wrong, notADoor(new RegExp(`without a path: ${document}/`)))
    assert.equal((await open(t, document, credential).signIn(ADA)).status, 'signed_in')
  })

test('the multi-model door has no cookies and no sign-up', async (t) => {
  const { cardea, multiModel } = await startServer(t, { chttpd_auth: { allow_sign_up: true } })
  await cardea.users.create(ADA)
  const message = /multi-model door.*Give the URL of the document door.*credential: 'token'/
  const withCookie = open(t, multiModel, 'cookie')
  await assert.rejects(withCookie.signIn(ADA), notADoor(message))
  await assert.rejects(withCookie.session(), notADoor(message))
  const withToken = open(t, multiModel, 'token')
  assert.deepEqual(await withToken.signIn({ ...ADA, password: 'wrong' }), { status: 'wrong_password' })
  await assert.rejects(withToken.signUp('bob', 'analytical'), notADoor(message))
  assert.equal((await withToken.signIn(ADA)).status, 'signed_in')
  await assert.rejects(withToken.signUp('bob', 'analytical'), notADoor(message))
})

test('a door that requires a credential everywhere is a door', async (t) => {
  const { cardea, document } = await startServer(t, { chttpd: { require_valid_user: true } })
  await cardea.users.create(ADA)
  const client = open(t, document, 'cookie')
  assert.equal(await client.session(), null)
  assert.deepEqual(await client.signIn({ ...ADA, password: 'wrong' }), { status: 'wrong_password' })
  assert.equal((await client.signIn(ADA)).status, 'signed_in')
})

test('a server that fails is no other server', async (t) => {
  const url = await serve(t, (_request, response) => void response.writeHead(503).end('busy'))
  await assert.rejects(open(t, url, 'cookie').signIn(ADA), { name: 'ClientError', status: 503, code: 'unknown' })
})
