// Basic at the multi-model door, to the letter.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATE, openMultiModel } from '../../support/multi-model.ts'
import { ANN, openWithUsers } from '../../support/multi-model-users.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const encode = (text: string): string => Buffer.from(text).toString('base64')

describe('the Basic header', () => {
  const open = [
    ['in lower case', AS_ADMIN.replace('Basic', 'basic')],
    ['in capitals', AS_ADMIN.replace('Basic', 'BASIC')],
    ['with more blanks', AS_ADMIN.replace(' ', '     ')],
    ['without padding', AS_ADMIN.replaceAll('=', '')],
  ] as const
  const closed = [
    ['no blank', 'Basic'],
    ['a tab', AS_ADMIN.replace(' ', '\t')],
    ['nothing after the blank', 'Basic '],
    ['foreign characters', `Basic ${encode('admin:adminpw')}!`],
    ['base64url', `Basic ${encode('admin:adminpw').replaceAll('=', '-')}`],
    ['wrong padding', `${AS_ADMIN}=`],
    ['no colon', `Basic ${encode('admin')}`],
    ['no name', basic('', 'adminpw')],
    ['neither', basic('', '')],
    ['another case', basic('Admin', 'adminpw')],
    ['a blank at the end of the password', basic('admin', 'adminpw ')],
    ['not UTF-8', `Basic ${Buffer.from([0x61, 0xff, 0x3a, 0x62]).toString('base64')}`],
    ['another scheme', `Digest ${encode('admin:adminpw')}`],
    ['a scheme of two words', `Basic Basic ${encode('admin:adminpw')}`],
    ['the credential in the query only', ''],
  ] as const
  for (const [name, auth] of open) {
    it(`accepts it: ${name}`, async (t) => {
      const { ask } = await openMultiModel(t)
      assert.equal((await ask('GET', '/_api/version', { as: auth })).status, 200)
    })
  }
  for (const [name, auth] of closed) {
    it(`rejects it: ${name}`, async (t) => {
      const { ask } = await openMultiModel(t)
      const answer = await ask('GET', '/_api/version?user=admin&password=adminpw', { as: auth })
      assert.deepEqual([answer.status, answer.json], [401, GATE])
      assert.equal((await ask('GET', '/_admin/server/availability', { as: auth })).status, 200)
    })
  }
  it('the password may contain colons and may be empty', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const [user, passwd] of [
      ['one', 'a:b:c'],
      ['two', ''],
      ['three', ':'],
    ] as const) {
      await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user, passwd } })
      assert.equal((await ask('GET', `/_api/user/${user}`, { as: basic(user, passwd) })).status, 200)
    }
  })
  it('ignores cookies and proxy headers of the document door', async (t) => {
    const { ask } = await openMultiModel(t)
    const headers = { Cookie: 'AuthSession=x', 'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin' }
    assert.deepEqual((await ask('GET', '/_api/version', { headers })).json, GATE)
  })
})

describe('a cached password check', () => {
  it('is used until the user changes', async (t) => {
    const { ask } = await openWithUsers(t)
    for (let i = 0; i < 3; i += 1) assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 200)
    await ask('PATCH', '/_api/user/ann', { as: AS_ADMIN, body: { passwd: 'pear' } })
    assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 401)
    await ask('PATCH', '/_api/user/ann', { as: AS_ADMIN, body: { passwd: 'apple', active: false } })
    assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 401)
  })
  it('is computed again after --server.authentication-timeout', async (t) => {
    const { ask } = await openWithUsers(t, { server: { 'authentication-timeout': 0.001 } })
    for (let i = 0; i < 3; i += 1) assert.equal((await ask('GET', '/_api/user/ann', { as: ANN })).status, 200)
  })
})
