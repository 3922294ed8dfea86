import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createPlainId,
  createProvenId,
  findOpeningTime,
  type SessionProof,
} from '../../../src/directory/sessions/session.ts'

const KEY = Buffer.from('the own key of this deployment')
const ADA = { name: 'ada', sessionEpoch: { generation: 3 } }
const NOW = 1_800_000_000
const TOKEN = { accessToken: 'a'.repeat(32) }

const create = (proof: SessionProof = 'password') => createProvenId(ADA, proof, NOW * 1000, KEY)
const find = (id: string, proof: SessionProof = 'password', { owner = ADA, key = KEY } = {}) =>
  findOpeningTime(id, owner, proof, key)

for (const proof of ['password', TOKEN] as const) {
  test(`an id of a session opened with ${typeof proof === 'string' ? 'the password' : 'an access token'} says when`, () => {
    const id = create(proof)
    assert.match(id, /^[\w-]{22}$/)
    assert.equal(find(id, proof), NOW)
    assert.notEqual(create(proof), id)
  })
}

test('an id says nothing for another user, another session epoch or under another key', () => {
  const id = create()
  assert.equal(find(id, 'password', { owner: { ...ADA, name: 'bob' } }), undefined)
  assert.equal(find(id, 'password', { owner: { ...ADA, sessionEpoch: { generation: 4 } } }), undefined)
  assert.equal(find(id, 'password', { key: Buffer.from('a secret of tokens') }), undefined)
})

test('an id proves neither the password for an access token, nor another access token', () => {
  assert.equal(find(create(TOKEN)), undefined)
  assert.equal(find(create(), TOKEN), undefined)
  assert.equal(find(create(TOKEN), { accessToken: 'b'.repeat(32) }), undefined)
})

test('any other id has no time', () => {
  assert.match(createPlainId(NOW * 1000), /^[\w-]{22}$/)
  for (const id of [createPlainId(NOW * 1000), '', 'x', 'A'.repeat(22), 'A'.repeat(44)])
    assert.equal(find(id), undefined)
  const bytes = Buffer.from(create(), 'base64url')
  bytes.writeUInt32BE(NOW + 1)
  assert.equal(find(bytes.toString('base64url')), undefined, 'the time is not changed')
})
