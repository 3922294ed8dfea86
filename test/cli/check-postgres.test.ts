import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderServers } from '../../src/cli/check-postgres.ts'
import type { Replication } from '../../src/store/postgres/describe.ts'
import { DEFAULTS, type PostgresOptions } from '../../src/store/postgres/options.ts'

const PRIMARY = { name: 'db-1:5432', isPrimary: true }
const NONE: Replication = { standbys: 0, synchronous: undefined, names: '', commit: 'on', behindBytes: undefined }

describe('cardea check, about the servers of PostgreSQL', () => {
  const rows: readonly (readonly [name: string, replication: Replication, level: string, message: RegExp])[] = [
    ['no standby', NONE, 'ok', /no standby/],
    [
      'an asynchronous standby',
      { ...NONE, standbys: 1, behindBytes: 42 },
      'warning',
      /loses the last changes.*42 bytes/,
    ],
    ['one whose delay is hidden', { ...NONE, standbys: 1 }, 'warning', /asynchronous.*pg_monitor/],
    ['a synchronous standby', { ...NONE, standbys: 1, synchronous: 1, names: '*' }, 'ok', /loses no acknowledged/],
    [
      'a standby of another name',
      { ...NONE, standbys: 1, synchronous: 0, names: 'b' },
      'problem',
      /every change fails/,
    ],
    ['one whose state is hidden', { ...NONE, standbys: 1, names: '*' }, 'ok', /should be synchronous.*pg_monitor/],
    ['commits that do not wait', { ...NONE, standbys: 1, names: '*', commit: 'local' }, 'warning', /asynchronous/],
    ['a synchronous standby that is away', { ...NONE, names: '*' }, 'problem', /every change fails/],
  ]
  for (const [name, replication, level, message] of rows)
    it(name, () => {
      const [primary, found] = renderServers({ servers: [PRIMARY], replication, connections: undefined }, DEFAULTS)
      assert.deepEqual(primary, { level: 'ok', message: 'db-1:5432 is the primary' })
      assert.equal(found?.level, level)
      assert.match(found?.message ?? '', message)
    })

  it('the others, and how many nodes fit', () => {
    const servers = [
      { name: 'a', isPrimary: false, failure: 'ECONNREFUSED' },
      PRIMARY,
      { name: 'b', isPrimary: false, isReadOnly: true },
      { name: 'c', isPrimary: false },
      { name: 'd', isPrimary: false, isSamePrimary: true },
      { name: 'e', isPrimary: false, isReadOnly: true, isForeign: true },
    ]
    const found = renderServers(
      { servers, replication: undefined, connections: { allowed: 97, open: 3 } },
      { ...DEFAULTS, processes: 2 },
    )
    assert.deepEqual(
      found.map(({ message }) => message),
      [
        'db-1:5432 is the primary',
        'a cannot be used: ECONNREFUSED',
        'b is a standby, or set to read-only',
        'c accepts writes, too',
        'd is another address of the primary',
        'e is not a copy of the primary',
        'PostgreSQL allows 97 connections and has 3. A node uses up to 20 of them, so 4 such nodes fit',
      ],
    )
  })

  const pooled: readonly (readonly [options: Partial<PostgresOptions>, said: string])[] = [
    [{ listenUrl: 'postgres://a' }, 'A node uses up to 22 of them, so 4 such nodes fit'],
    [{ pooling: 'transaction' }, 'A node uses up to 20 connections of the pooler'],
    [
      { pooling: 'transaction', listenUrl: 'postgres://a' },
      'A node uses up to 20 connections of the pooler, and 2 of PostgreSQL to listen',
    ],
  ]
  for (const [options, said] of pooled)
    it(`what nodes use with ${JSON.stringify(options)}`, () => {
      const report = { servers: [PRIMARY], replication: undefined, connections: { allowed: 97, open: 3 } }
      const found = renderServers(report, { ...DEFAULTS, processes: 2, ...options })
      assert.equal(found.at(-1)?.message, `PostgreSQL allows 97 connections and has 3. ${said}`)
    })

  it('no server that accepts writes is a problem', () => {
    const servers = [{ name: 'a', isPrimary: false, isReadOnly: true }]
    const found = renderServers({ servers, replication: undefined, connections: undefined }, DEFAULTS)
    assert.deepEqual(
      found.map(({ level, message }) => [level, message]),
      [
        ['problem', 'no server accepts writes'],
        ['ok', 'a is a standby, or set to read-only'],
      ],
    )
  })
})
