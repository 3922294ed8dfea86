import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { readVelocyPack } from '../../../src/base/read-velocypack.ts'
import { writeVelocyPack } from '../../../src/base/write-velocypack.ts'
import { member, openMultiModel } from '../../support/multi-model.ts'
import { AS_ADMIN } from '../../support/request.ts'

const TYPE = 'application/x-velocypack'
const { url } = await openMultiModel({ after })

interface Details {
  readonly body?: unknown
  readonly bytes?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends VelocyPack and asks for it. */
async function ask(method: string, path: string, { body, bytes, headers = {} }: Details = {}) {
  const sent = bytes ?? (body === undefined ? undefined : writeVelocyPack(body))
  const response = await fetch(url + path, {
    method,
    headers: { Accept: TYPE, Authorization: AS_ADMIN, ...(sent && { 'Content-Type': TYPE }), ...headers },
    ...(sent && { body: new Uint8Array(sent) }),
  })
  const received = Buffer.from(await response.arrayBuffer())
  const reading = readVelocyPack(received, { maxDepth: 100, maxItems: 10_000 })
  const value = reading.kind === 'json' ? reading.value : undefined
  const type = response.headers.get('content-type')
  return {
    status: response.status,
    type,
    value,
    text: received.toString(),
    length: response.headers.get('content-length'),
  }
}

const refused = (code: number, errorNum: number, errorMessage: string) => ({
  error: true,
  code,
  errorNum,
  errorMessage,
})

describe('VelocyPack', () => {
  it('signs in', async () => {
    const { status, type, value } = await ask('POST', '/_open/auth', {
      body: { username: 'admin', password: 'adminpw' },
    })
    assert.deepEqual([status, type], [200, TYPE])
    assert.match(String(member(value, 'jwt')), /^ey/)
  })
  it('creates, shows, changes, lists and removes a user', async () => {
    const extra = { name: 'Ann', numbers: [1, 300, -70_000, 1.5], nested: { empty: {}, none: null } }
    const created = await ask('POST', '/_api/user', { body: { user: 'ann', passwd: 'apple', extra } })
    assert.deepEqual([created.status, created.type], [201, TYPE])
    assert.deepEqual(created.value, { user: 'ann', active: true, extra, error: false, code: 201 })
    const shown = await ask('GET', '/_api/user/ann')
    assert.deepEqual(shown.value, { user: 'ann', active: true, extra, error: false, code: 200 })
    const changed = await ask('PATCH', '/_api/user/ann', { body: { active: false } })
    assert.equal(member(changed.value, 'active'), false)
    const granted = await ask('PUT', '/_api/user/ann/database/shop', { body: { grant: 'ro' } })
    assert.deepEqual(granted.value, { shop: 'ro', error: false, code: 200 })
    const listed = await ask('GET', '/_api/user')
    assert.ok((member(listed.value, 'result') as object[]).some((user) => member(user, 'user') === 'ann'))
    assert.equal((await ask('DELETE', '/_api/user/ann')).status, 202)
  })
  it('creates and lists access tokens', async () => {
    await ask('POST', '/_api/user', { body: { user: 'bob', passwd: 'berry' } })
    const created = await ask('POST', '/_api/token/bob', { body: { name: 'ci', valid_until: 4_000_000_000 } })
    assert.deepEqual([created.status, member(created.value, 'valid_until')], [200, 4_000_000_000])
    const { value } = await ask('GET', '/_api/token/bob')
    assert.equal((member(value, 'tokens') as object[]).length, 1)
  })
  it('is answered in JSON unless it is asked for', async () => {
    const { type, text } = await ask('POST', '/_open/auth', {
      body: { username: 'admin', password: 'adminpw' },
      headers: { Accept: '*/*' },
    })
    assert.equal(type, 'application/json')
    assert.match(text, /^\{"jwt":/)
  })
  const accepted = [
    ['Application/X-VelocyPack; charset=x', TYPE],
    [`${TYPE}, application/json`, TYPE],
    [`application/json, ${TYPE}`, 'application/json'],
    ['application/x-velocypackage', 'application/json'],
  ] as const
  for (const [accept, expected] of accepted)
    it(`with Accept: ${accept} the reply is ${expected}`, async () => {
      assert.equal((await ask('GET', '/_api/user/admin', { headers: { Accept: accept } })).type, expected)
    })
  it('HEAD announces the length of GET', async () => {
    const { length } = await ask('GET', '/_api/user/admin')
    assert.deepEqual((await ask('HEAD', '/_api/user/admin')).length, length)
  })
})

describe('errors in VelocyPack', () => {
  const notVelocyPack = 'the body is not VelocyPack, or has a type that JSON does not have'
  const user = (bytes: string) => ({ method: 'POST', path: '/_api/user', bytes: Buffer.from(bytes, 'hex') })
  const rows = [
    { name: 'an unknown user', method: 'GET', path: '/_api/user/nobody', body: refused(404, 1703, 'user not found') },
    {
      name: 'no credential',
      method: 'GET',
      path: '/_api/user',
      headers: { Authorization: '' },
      body: refused(401, 11, 'not authorized to execute this request'),
    },
    {
      name: 'an unknown path',
      method: 'GET',
      path: '/_api/nothing',
      body: refused(404, 404, "unknown path '/_api/nothing'"),
    },
    { name: 'JSON called VelocyPack', ...user('7b7d'), body: refused(400, 10, notVelocyPack) },
    { name: 'an address in memory', ...user('1d0000000000000000'), body: refused(400, 10, notVelocyPack) },
    {
      name: 'a name twice',
      ...user('140941613141613202'),
      body: refused(400, 10, 'the body names a member twice'),
    },
    { name: 'text that is not UTF-8', ...user('41ff'), body: refused(400, 10, 'the body is not UTF-8') },
    { name: 'an array', ...user('01'), body: refused(400, 10, 'the body must be a JSON object') },
    {
      name: 'a number of 64 bits',
      ...user('140e416e2fffffffffffffffff01'),
      body: refused(400, 10, 'the body contains a number that cannot be stored exactly'),
    },
    {
      name: 'an infinite expiryTime',
      method: 'POST',
      path: '/_open/auth',
      bytes: Buffer.from('14164a65787069727954696d651b000000000000f07f01', 'hex'),
      body: refused(400, 600, notVelocyPack),
    },
    {
      name: 'too many items',
      method: 'POST',
      path: '/_open/auth',
      bytes: writeVelocyPack(Array.from({ length: 2001 }, () => 0)),
      body: refused(413, 413, 'the request body is too large'),
    },
    {
      name: 'too many levels',
      method: 'POST',
      path: '/_api/user',
      bytes: writeVelocyPack(JSON.parse('['.repeat(101) + ']'.repeat(101))),
      body: refused(400, 10, 'the body is nested too deep'),
    },
  ]
  for (const { name, method, path, body, ...details } of rows)
    it(name, async () => {
      const { status, type, value } = await ask(method, path, details)
      assert.deepEqual([status, type, value], [body.code, TYPE, body])
    })
})
