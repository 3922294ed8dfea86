import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createSessionServer, mintClassic, nowSeconds } from './session-server.ts'

const SECRET = 'a-cookie-secret-for-these-tests'
const chttpd_auth = { secret: SECRET }
const SERVERS = {
  neither: createSessionServer({ chttpd_auth }),
  except: createSessionServer({ chttpd_auth, chttpd: { require_valid_user_except_for_up: true } }),
  required: createSessionServer({ chttpd_auth, chttpd: { require_valid_user: true } }),
  both: createSessionServer({
    chttpd_auth,
    chttpd: { require_valid_user: true, require_valid_user_except_for_up: true },
  }),
}
type Mode = keyof typeof SERVERS

before(() => Promise.all(Object.values(SERVERS).map((server) => server.add('ada'))))

/** By mode: the status of an anonymous request. */
const ANONYMOUS: readonly (readonly [request: string, statuses: Readonly<Record<Mode, number>>])[] = [
  ['GET /_up', { neither: 200, except: 200, required: 401, both: 200 }],
  ['HEAD /_up', { neither: 200, except: 200, required: 401, both: 200 }],
  ['GET /', { neither: 200, except: 401, required: 401, both: 401 }],
  ['GET /_session', { neither: 200, except: 401, required: 401, both: 401 }],
  ['DELETE /_session', { neither: 200, except: 401, required: 401, both: 401 }],
  ['POST /_session', { neither: 415, except: 415, required: 415, both: 415 }],
  ['GET /_users', { neither: 200, except: 401, required: 401, both: 401 }],
  ['GET /_up/x', { neither: 401, except: 401, required: 401, both: 401 }],
  ['GET /_all_dbs?x=/_up', { neither: 401, except: 401, required: 401, both: 401 }],
  ['GET /anything', { neither: 404, except: 401, required: 401, both: 401 }],
  ['OPTIONS /', { neither: 405, except: 401, required: 401, both: 401 }],
]

for (const [request, statuses] of ANONYMOUS) {
  for (const [mode, server] of Object.entries(SERVERS) as [Mode, (typeof SERVERS)[Mode]][]) {
    test(`${mode}: an anonymous ${request} is ${statuses[mode]}`, async () => {
      const [method = '', path = ''] = request.split(' ')
      const answer = await server.ask(method, path, { as: '' })
      assert.equal(answer.status, statuses[mode], answer.body)
    })
  }
}

for (const mode of ['except', 'required', 'both'] as const) {
  test(`${mode}: a password, a cookie and a sign-in are accepted`, async () => {
    const server = SERVERS[mode]
    assert.equal((await server.ask('GET', '/', { as: 'ada:ada-pw' })).status, 200)
    assert.equal((await server.identifyCookie(await server.begin('ada'))).name, 'ada')
  })

  test(`${mode}: the error asks for authentication`, async () => {
    const { json, headers } = await SERVERS[mode].ask('GET', '/', { as: '' })
    assert.deepEqual(json, { error: 'unauthorized', reason: 'Authentication required.' })
    assert.equal(headers['www-authenticate'], mode === 'except' ? undefined : 'Basic realm="server"')
  })

  test(`${mode}: an expired cookie is not accepted`, async () => {
    const server = SERVERS[mode]
    const { salt } = (await server.get('ada')).json
    const cookie = mintClassic('ada', nowSeconds() - 700, { secret: SECRET, salt })
    assert.equal((await server.ask('GET', '/', { as: '', headers: { Cookie: `AuthSession=${cookie}` } })).status, 401)
  })
}

test('a failed sign-in sends no challenge, even if every other 401 does', async () => {
  const answer = await SERVERS.required.post({ name: 'ada', password: 'wrong' })
  assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, undefined])
})

test('a client can request a challenge, with any options', async () => {
  for (const server of [SERVERS.neither, SERVERS.required]) {
    const headers = { 'X-CouchDB-WWW-Authenticate': 'Cookie' }
    const answer = await server.ask('GET', '/_all_dbs', { as: '', headers })
    assert.equal(answer.headers['www-authenticate'], 'Cookie')
  }
})
