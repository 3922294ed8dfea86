import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { limitedUser as anyUser } from './arbitrary.ts'
import { PASSKEY, readingsOf, toUser, writeDump } from './read.ts'

const HEAD = '{"cardea":"directory","version":1}'
const END = '{"end":"directory"}'
const dump = (...lines: readonly (string | object)[]): string =>
  [HEAD, ...lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))), END].join('\n')

/** What became of the records between head and end. */
const readBetween = (...lines: readonly (string | object)[]) => readingsOf(dump(...lines), 'cardea').slice(1, -1)

const toId = (at: number) => Buffer.from([at, 0, 0]).toString('base64url')

const withPasskeys = (...changes: readonly object[]) => ({
  user: { name: 'ann', passkeys: changes.map((change) => ({ ...PASSKEY, ...change })) },
})

const REFUSED: readonly [row: string, line: string | object, reason: RegExp][] = [
  ['a record that is not JSON', '{"user":', /not JSON/],
  ['a duplicate member', '{"user":{"name":"ann","name":"bob"}}', /duplicated/],
  ['an unknown record', { group: {} }, /one user, administrator or setting/],
  [
    'a line with two records',
    { user: { name: 'ann' }, administrator: { name: 'bob', stored: 'x' } },
    /one user, administrator or setting/,
  ],
  ['a record that is not an object', '7', /must be an object/],
  ['an array of unknown records', '[7]', /must be an object/],
  ['a missing name', { user: {} }, /name must be a string/],
  ['an invalid name', { user: { name: 'a:b' } }, /colon/],
  ['an invalid role', { user: { name: 'ann', roles: ['a,b'] } }, /comma/],
  ['a system role', { user: { name: 'ann', roles: ['_admin'] } }, /underscore/],
  ['roles of the wrong type', { user: { name: 'ann', roles: 'admin' } }, /must be a list/],
  ['an unknown member', { user: { name: 'ann', admin: true } }, /unknown/],
  ['active of the wrong type', { user: { name: 'ann', active: 1 } }, /true or false/],
  ['an invalid revision', { user: { name: 'ann', revision: '1' } }, /revision/],
  [
    'a revision that cannot be continued',
    { user: { name: 'ann', revision: `999999999999999-${'a'.repeat(32)}` } },
    /revision/,
  ],
  [
    'a generation that is too high',
    { user: { name: 'ann', sessionsFrom: { generation: 2 ** 50, seconds: 0 } } },
    /generation/,
  ],
  ['a document member with a field of its own', { user: { name: 'ann', members: [['roles', []]] } }, /reserved name/],
  ['a member of the database itself', { user: { name: 'ann', members: [['_id', 'x']] } }, /reserved name/],
  ['a hash as document member', { user: { name: 'ann', members: [['derived_key', 'x']] } }, /reserved name/],
  ['a password as document member', { user: { name: 'ann', members: [['password', 'x']] } }, /reserved name/],
  [
    'a duplicate document member',
    {
      user: {
        name: 'ann',
        members: [
          ['a', 1],
          ['a', 2],
        ],
      },
    },
    /duplicated/,
  ],
  ['a grant of the wrong type', { user: { name: 'ann', grants: { db: { level: 'all' } } } }, /rw, ro, none/],
  [
    'a grant on a system collection',
    { user: { name: 'ann', grants: { db: { collections: { _a: 'rw' } } } } },
    /system/,
  ],
  [
    'a token without digest',
    { user: { name: 'ann', tokens: [{ id: 1, name: 'x', createdAt: 1, validUntil: 1, fingerprint: '' }] } },
    /digest/,
  ],
  [
    'more passkeys than a user may add',
    withPasskeys(...Array.from({ length: 21 }, (_, at) => ({ id: toId(at) }))),
    /20/,
  ],
  ['a passkey twice', withPasskeys({}, {}), /twice/],
  ['a passkey without an id', withPasskeys({ id: '' }), /id of a passkey/],
  ['a passkey with an id that no authenticator has', withPasskeys({ id: 'a+b/' }), /id of a passkey/],
  ['a passkey with an id that is too long', withPasskeys({ id: 'A'.repeat(1368) }), /id of a passkey/],
  ['a passkey with a key that is too long', withPasskeys({ publicKey: 'A'.repeat(2732) }), /publicKey of a passkey/],
  ['a passkey with a label that is too long', withPasskeys({ label: 'x'.repeat(65) }), /label of a passkey/],
  ['a passkey of no host', withPasskeys({ rpId: '' }), /rpId of a passkey/],
  ['a passkey with an unknown transport', withPasskeys({ transports: ['rope'] }), /transports of a passkey/],
  ['an administrator without password', { administrator: { name: 'root' } }, /stored/],
  ['an administrator without a name', { administrator: { name: '', stored: 'x' } }, /empty/],
  ['too many levels of nesting', `{"user":{"name":"ann","extra":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}}`, /deep/],
]

describe("files in Cardea's format", () => {
  for (const [row, line, reason] of REFUSED) {
    it(`reject ${row} and continue with the next record`, () => {
      const [refused, next] = readBetween(line, { user: { name: 'next' } })
      assert.equal(refused?.kind, 'refused')
      assert.match(refused?.kind === 'refused' ? refused.reason : '', reason)
      assert.equal(next?.kind, 'user')
    })
  }

  it('may contain a plain-text password', () => {
    const [reading] = readBetween({ user: { name: 'ann', password: { clear: 'secret' } } })
    assert.deepEqual(reading, {
      kind: 'user',
      id: 'ann',
      draft: { name: 'ann', password: { password: 'secret' } },
      notes: [],
    })
  })

  const HEADS: readonly [row: string, input: string, reason: RegExp][] = [
    [
      'another first line',
      '{"cardea":"settings","version":1}\n{"user":{"name":"ann"}}',
      /--from document or --from multi-model/,
    ],
    ['a later version', '{"cardea":"directory","version":2}\n{"user":{"name":"ann"}}', /version/],
    ['no first line', '{"user":{"name":"ann"}}', /not a file of "cardea export"/],
  ]
  for (const [row, input, reason] of HEADS) {
    it(`with ${row} are rejected whole`, () => {
      const readings = readingsOf(input, 'cardea')
      assert.equal(readings.length, 1)
      assert.match(readings[0]?.kind === 'refused' ? readings[0].reason : '', reason)
    })
  }

  it('without the last line are reported as incomplete', () => {
    const readings = readingsOf(`${HEAD}\n{"user":{"name":"ann"}}\n`, 'cardea')
    assert.deepEqual(
      readings.map(({ kind }) => kind),
      ['passed', 'user', 'refused'],
    )
  })

  it('end with their last line', () => {
    const readings = readingsOf(`${dump()}\n{"user":{"name":"ann"}}`, 'cardea')
    assert.deepEqual(
      readings.map(({ kind }) => kind),
      ['passed', 'passed', 'refused'],
    )
  })

  it('keep everything of every user', () => {
    fc.assert(
      fc.property(fc.array(anyUser, { maxLength: 4 }), (users) => {
        const readings = readingsOf(writeDump(users, 'cardea'), 'cardea')
        const drafts = readings.flatMap((reading) => (reading.kind === 'user' ? [reading.draft] : []))
        assert.deepEqual(drafts.map(toUser), users)
        assert.deepEqual(readings.at(-2), { kind: 'administrator', id: 'root', text: '-hashed-x,y' })
        assert.ok(readings.every(({ kind }) => kind !== 'refused'))
      }),
      { numRuns: 300 },
    )
  })
})
