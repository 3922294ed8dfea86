// chttpd_auth.max_sessions and max_lifetime at the document door.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createSessionServer, lineOf, mintJwt, NO_USER, nowSeconds } from './session-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const { add, post, ask, begin, identifyCookie } = createSessionServer({
  chttpd_auth: { max_sessions: 2, max_lifetime: 100 },
  jwt_keys: { 'hmac:_default': Buffer.from(SECRET).toString('base64') },
})

before(() => add('ada'))

test('a sign-in beyond the number of sessions ends an earlier one, never the new one', async () => {
  const cookies: string[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    cookies.push(await begin('ada'))
    const names = await Promise.all(cookies.map(async (cookie) => (await identifyCookie(cookie)).name))
    assert.equal(names.filter((name) => name === 'ada').length, Math.min(cookies.length, 2))
    assert.equal(names.at(-1), 'ada')
  }
})

test('sessions opened with a JWT for the same name do not end those of the user', async () => {
  const own = await begin('ada')
  const jwt = mintJwt({ sub: 'ada', exp: nowSeconds() + 60 }, SECRET)
  for (let turn = 0; turn < 4; turn += 1)
    await ask('POST', '/_session', { as: '', headers: { Authorization: `Bearer ${jwt}` } })
  assert.notDeepEqual(await identifyCookie(own), NO_USER)
})

test('the cookie is kept no longer than the longest lifetime', async () => {
  assert.match(lineOf(await post({ name: 'ada', password: 'ada-pw' })), /Max-Age=100;/)
})
