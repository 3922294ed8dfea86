import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createCardeaWriter } from '../../src/transfer/cardea.ts'
import { user as anyUser } from './arbitrary.ts'
import { readingsOf, toUser } from './read.ts'

const HEAD = '{"cardea":"directory","version":1}'
const END = '{"end":"directory"}'
const dump = (...lines: readonly (string | object)[]): string =>
  [HEAD, ...lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))), END].join('\n')

/** What became of the records between head and end. */
const readBetween = (...lines: readonly (string | object)[]) => readingsOf(dump(...lines)).slice(1, -1)

const REFUSED: readonly [row: string, line: string | object, reason: RegExp][] = [
  ['no JSON', '{"user":', /not JSON/],
  ['a member twice', '{"user":{"name":"ann","name":"bob"}}', /twice/],
  ['nothing known', { group: {} }, /one user or administrator/],
  ['two things', { user: { name: 'ann' }, administrator: { name: 'bob', stored: 'x' } }, /one user or administrator/],
  ['no object', '7', /must be an object/],
  ['an array of nothing known', '[7]', /must be an object/],
  ['no name', { user: {} }, /name must be a text/],
  ['a name that cannot be', { user: { name: 'a:b' } }, /colon/],
  ['a role that cannot be', { user: { name: 'ann', roles: ['a,b'] } }, /comma/],
  ['a role of the system', { user: { name: 'ann', roles: ['_admin'] } }, /underscore/],
  ['roles of another kind', { user: { name: 'ann', roles: 'admin' } }, /must be a list/],
  ['an unknown member', { user: { name: 'ann', admin: true } }, /not known/],
  ['active of another kind', { user: { name: 'ann', active: 1 } }, /true or false/],
  ['a revision that is none', { user: { name: 'ann', revision: '1' } }, /revision/],
  [
    'a revision that cannot be continued',
    { user: { name: 'ann', revision: `999999999999999-${'a'.repeat(32)}` } },
    /revision/,
  ],
  [
    'a generation beyond all',
    { user: { name: 'ann', sessionsFrom: { generation: 2 ** 50, seconds: 0 } } },
    /generation/,
  ],
  ['a member of the document with a place of its own', { user: { name: 'ann', members: [['roles', []]] } }, /not free/],
  ['a member of the database', { user: { name: 'ann', members: [['_id', 'x']] } }, /not free/],
  ['a hash among the members', { user: { name: 'ann', members: [['derived_key', 'x']] } }, /not free/],
  ['a password among the members', { user: { name: 'ann', members: [['password', 'x']] } }, /not free/],
  [
    'a member of the document twice',
    {
      user: {
        name: 'ann',
        members: [
          ['a', 1],
          ['a', 2],
        ],
      },
    },
    /twice/,
  ],
  ['a grant of another kind', { user: { name: 'ann', grants: { db: { level: 'all' } } } }, /rw, ro, none/],
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
  ['an administrator without password', { administrator: { name: 'root' } }, /stored/],
  ['an administrator of no name', { administrator: { name: '', stored: 'x' } }, /empty/],
  ['too many levels of nesting', `{"user":{"name":"ann","extra":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}}`, /deep/],
]

describe("Cardea's own files", () => {
  for (const [row, line, reason] of REFUSED) {
    it(`refuse ${row}, and what follows is read`, () => {
      const [refused, next] = readBetween(line, { user: { name: 'next' } })
      assert.equal(refused?.kind, 'refused')
      assert.match(refused?.kind === 'refused' ? refused.reason : '', reason)
      assert.equal(next?.kind, 'user')
    })
  }

  it('may hold a password in clear', () => {
    const [reading] = readBetween({ user: { name: 'ann', password: { clear: 'secret' } } })
    assert.deepEqual(reading, {
      kind: 'user',
      id: 'ann',
      draft: { name: 'ann', password: { password: 'secret' } },
      notes: [],
    })
  })

  const HEADS: readonly [row: string, input: string, reason: RegExp][] = [
    ['another head', '{"cardea":"settings","version":1}\n{"user":{"name":"ann"}}', /first line/],
    ['a version of tomorrow', '{"cardea":"directory","version":2}\n{"user":{"name":"ann"}}', /version/],
    ['no head', '{"user":{"name":"ann"}}', /first line/],
  ]
  for (const [row, input, reason] of HEADS) {
    it(`with ${row} are not read at all`, () => {
      const readings = readingsOf(input, 'cardea')
      assert.equal(readings.length, 1)
      assert.match(readings[0]?.kind === 'refused' ? readings[0].reason : '', reason)
    })
  }

  it('without their last line are reported as cut off', () => {
    const readings = readingsOf(`${HEAD}\n{"user":{"name":"ann"}}\n`)
    assert.deepEqual(
      readings.map(({ kind }) => kind),
      ['passed', 'user', 'refused'],
    )
  })

  it('end where they say so', () => {
    const readings = readingsOf(`${dump()}\n{"user":{"name":"ann"}}`)
    assert.deepEqual(
      readings.map(({ kind }) => kind),
      ['passed', 'passed', 'refused'],
    )
  })

  it('lose nothing of any user', () => {
    fc.assert(
      fc.property(fc.array(anyUser, { maxLength: 4 }), (users) => {
        const writer = createCardeaWriter([{ name: 'root', text: '-hashed-x,y' }])
        const text = `${writer.head}${users.map((user) => writer.writeUser(user).text).join(writer.separator)}${writer.tail(users.length)}`
        const readings = readingsOf(text)
        const drafts = readings.flatMap((reading) => (reading.kind === 'user' ? [reading.draft] : []))
        assert.deepEqual(drafts.map(toUser), users)
        assert.deepEqual(readings.at(-2), { kind: 'administrator', id: 'root', text: '-hashed-x,y' })
        assert.ok(readings.every(({ kind }) => kind !== 'refused'))
      }),
      { numRuns: 300 },
    )
  })
})
