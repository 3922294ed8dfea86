import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterAnswerHeaders } from '../../src/upstream/response-headers.ts'

const filter = (cookie: string) =>
  filterAnswerHeaders(['Set-Cookie', cookie], {}, 200, { ownsCors: false, sessionCookie: 'AuthSession' })

/** What a browser keeps of each would come back as `AuthSession=…`, by itself or behind a comma. */
for (const cookie of [
  'AuthSession=e7',
  'AuthSession=',
  'AuthSession',
  'authsession=e7; Path=/',
  ' AUTHSESSION =e7',
  '=AuthSession=e7',
  '=authsession=e7; Path=/; HttpOnly',
  ' = AuthSession = e7',
  '==AuthSession=e7',
  'app=1,AuthSession=e7',
  'app=1, =AuthSession=e7; Path=/',
])
  test(`nobody else sets the cookie of sessions: ${cookie}`, () => assert.deepEqual(filter(cookie), []))

for (const cookie of [
  'app=1',
  '=1',
  'AuthSessions=1',
  'MyAuthSession=1',
  'app=AuthSession',
  'app==AuthSession=1',
  'app=1; Path=/AuthSession=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT',
])
  test(`other cookies pass as they are: ${cookie}`, () => assert.deepEqual(filter(cookie), [['Set-Cookie', cookie]]))
