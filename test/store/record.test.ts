import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type GrantLevel, type Json, type JsonObject, type User, withField } from '../../src/directory/users/user.ts'
import { readRecord, renderRecord } from '../../src/store/record.ts'
import { newUser } from '../contract/store-values.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

// JSON has no -0
const json = fc.jsonValue({ stringUnit: ANY_CHARACTER }).map((value): Json => JSON.parse(JSON.stringify(value)))
const text = fc.string({ unit: ANY_CHARACTER })
const level = fc.constantFrom<GrantLevel>('rw', 'ro', 'none')
const grant = fc
  .tuple(fc.option(level, { nil: undefined }), fc.array(fc.tuple(text, level)))
  .map(([of, collections]) => ({ level: of, collections: new Map(collections) }))
const object = fc.dictionary(text, json).map((value): JsonObject => JSON.parse(JSON.stringify(value)))

const user: fc.Arbitrary<User> = fc
  .record({
    expiresAt: fc.option(fc.nat(), { nil: undefined }),
    mustChange: fc.boolean(),
    roles: fc.array(text),
    members: fc.array(fc.tuple(text, json)),
    grants: fc.array(fc.tuple(text, grant)).map((pairs) => new Map(pairs)),
    extra: object,
    config: object,
  })
  .map(({ expiresAt, mustChange, roles, members, grants, extra, config }) => ({
    ...withField(withField(newUser('alice'), 'mustChangePassword', mustChange), 'expiresAt', expiresAt),
    document: { ...newUser('alice').document, roles, members },
    multiModel: { grants, extra, config, tokens: [] },
  }))

describe('the text of a record', () => {
  it('reads back every possible user', () => {
    fc.assert(fc.property(user, (record) => assert.deepEqual(readRecord('alice', true, renderRecord(record)), record)))
  })

  it('reads back a tombstone', () => {
    const record = {
      kind: 'tombstone',
      name: 'alice',
      revision: 'r',
      sessionEpoch: { generation: 1, seconds: 2 },
    } as const
    assert.deepEqual(readRecord('alice', false, renderRecord(record)), record)
  })

  it('stores the session epoch as sessionsFrom, as every version before did', () => {
    const stored = JSON.parse(renderRecord({ ...newUser('alice'), sessionEpoch: { generation: 1, seconds: 2 } }))
    assert.deepEqual(stored.sessionsFrom, { generation: 1, seconds: 2 })
    assert.ok(!('sessionEpoch' in stored))
  })

  it('contains nothing a database cannot store', () => {
    fc.assert(
      fc.property(user, (record) => {
        const rendered = renderRecord(record)
        assert.ok(rendered.isWellFormed() && !rendered.includes('\0'))
      }),
    )
  })
})
