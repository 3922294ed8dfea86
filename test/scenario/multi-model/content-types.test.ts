import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { openMultiModel } from '../../support/multi-model.ts'
import { AS_ADMIN } from '../../support/request.ts'

const { ask, url } = await openMultiModel({ after }, { http: { 'trusted-origin': 'https://trusted.example/' } })

const bearer = async (): Promise<string> => {
  const { json } = await ask('POST', '/_open/auth', { body: { username: 'admin', password: 'adminpw' } })
  return `bearer ${(json as { jwt: string }).jwt}`
}

describe('a JSON body is read whatever its content type', () => {
  const types = [
    undefined,
    '',
    'application/json; charset=utf-8',
    'application/x-www-form-urlencoded',
    'text/plain;charset=UTF-8',
    'multipart/form-data; boundary=a',
    'application/vnd.api+json',
    ';;;',
  ]
  for (const [index, type] of types.entries()) {
    const headers = type === undefined ? {} : { 'Content-Type': type }
    it(`signs in with ${type ?? 'no type'}`, async () => {
      const answer = await ask('POST', '/_open/auth', { body: '{"username":"admin","password":"adminpw"}', headers })
      assert.equal(answer.status, 200)
    })
    it(`creates a user with ${type ?? 'no type'}`, async () => {
      const answer = await ask('POST', '/_api/user', { as: AS_ADMIN, body: `{"user":"u${index}"}`, headers })
      assert.equal(answer.status, 201)
    })
  }
  it('but not if the type is VelocyPack', async () => {
    const headers = { 'Content-Type': 'application/x-velocypack' }
    assert.equal((await ask('POST', '/_api/user', { as: AS_ADMIN, body: '{"user":"v"}', headers })).status, 400)
  })
})

describe('a simple POST of a page of another origin', () => {
  const text = { 'Content-Type': 'text/plain' }
  const host = new URL(url).host
  const rows: readonly (readonly [name: string, headers: Record<string, string>, status: number])[] = [
    ['is 403', { ...text, Origin: 'https://evil.example' }, 403],
    ['is 403 by Sec-Fetch-Site alone', { ...text, 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['is 403 from another subdomain', { ...text, 'Sec-Fetch-Site': 'same-site', Origin: 'https://a.b' }, 403],
    ['is 403 from a sandboxed frame', { ...text, Origin: 'null' }, 403],
    ['is 403 without a content type', { Origin: 'https://evil.example' }, 403],
    ['is 403 as a form', { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://evil.example' }, 403],
    ['passes from a trusted origin', { ...text, Origin: 'https://trusted.example' }, 400],
    ['passes from the origin of the door', { ...text, Origin: `http://${host}` }, 400],
    ['passes if the browser calls it same-origin', { ...text, 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }, 400],
    [
      'passes as JSON, which needs a preflight',
      { 'Content-Type': 'application/json', Origin: 'https://evil.example' },
      400,
    ],
    ['passes if it is not sent by a browser', text, 400],
  ]
  for (const [name, headers, status] of rows)
    it(name, async () => {
      // 400/1700: the body was read, and the user has no name
      const answer = await ask('POST', '/_api/user', { as: AS_ADMIN, body: '{}', headers })
      assert.equal(answer.status, status, answer.body)
    })
  it('passes with a Bearer token, which no browser adds by itself', async () => {
    const headers = { ...text, Origin: 'https://evil.example' }
    assert.equal((await ask('POST', '/_api/user', { as: await bearer(), body: '{}', headers })).status, 400)
  })
  it('signs in from every origin: the credential is in the body', async () => {
    const headers = { ...text, Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    const body = '{"username":"admin","password":"adminpw"}'
    const answer = await ask('POST', '/_open/auth', { as: AS_ADMIN, body: body, headers })
    assert.equal(answer.status, 200)
  })
  it('passes if every origin is trusted', async (t) => {
    const { ask: askOpen } = await openMultiModel(t, { http: { 'trusted-origin': 'all' } })
    const headers = { ...text, Origin: 'https://evil.example' }
    assert.equal((await askOpen('POST', '/_api/user', { as: AS_ADMIN, body: '{}', headers })).status, 400)
  })
  it('is 403 below a database too', async () => {
    const headers = { ...text, Origin: 'https://evil.example' }
    const answer = await ask('POST', '/_db/_system/_api/token/admin', { as: AS_ADMIN, body: '{}', headers })
    assert.equal(answer.status, 403)
  })
})
