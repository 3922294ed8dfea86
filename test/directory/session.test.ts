import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswordId, createPlainId, findPasswordTime } from '../../src/directory/session.ts'

const KEY = Buffer.from('the own key of this deployment')
const ADA = { name: 'ada', sessionEpoch: { generation: 3 } }
const NOW = 1_800_000_000

test('the id of a session opened with the password contains the time', () => {
  const id = createPasswordId(ADA, NOW, KEY)
  assert.match(id, /^[\w-]{22}$/)
  assert.equal(findPasswordTime(id, ADA, KEY), NOW)
  assert.notEqual(createPasswordId(ADA, NOW, KEY), id)
})

test('an id is not accepted for another user, another session epoch or another key', () => {
  const id = createPasswordId(ADA, NOW, KEY)
  assert.equal(findPasswordTime(id, { ...ADA, name: 'bob' }, KEY), undefined)
  assert.equal(findPasswordTime(id, { ...ADA, sessionEpoch: { generation: 4 } }, KEY), undefined)
  assert.equal(findPasswordTime(id, ADA, Buffer.from('a secret of tokens')), undefined)
})

test('any other id has no time', () => {
  assert.match(createPlainId(), /^[\w-]{22}$/)
  for (const id of [createPlainId(), '', 'x', 'A'.repeat(22), 'A'.repeat(44)])
    assert.equal(findPasswordTime(id, ADA, KEY), undefined)
  const bytes = Buffer.from(createPasswordId(ADA, NOW, KEY), 'base64url')
  bytes.writeUInt32BE(NOW + 1)
  assert.equal(findPasswordTime(bytes.toString('base64url'), ADA, KEY), undefined, 'the time is not changed')
})
