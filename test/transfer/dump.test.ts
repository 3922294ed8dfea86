import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readAdministrator, toDocumentAdministrator } from '../../src/transfer/document.ts'
import { MAX_RECORD_BYTES } from '../../src/transfer/dump.ts'
import { FORMAT_NAMES } from '../../src/transfer/format-names.ts'
import { ID_PREFIX, readDump, readingsOf, writeDump } from './read.ts'

const USER = { _id: `${ID_PREFIX}ann`, name: 'ann', type: 'user', roles: [] }

describe('a dump', () => {
  it('that does not begin as its format says is rejected once', () => {
    assert.deepEqual(
      readingsOf('{"hello":1}\n{"hello":2}', 'cardea').map(({ kind }) => kind),
      ['refused'],
    )
  })

  it('without anything is incomplete in the own format', () => {
    assert.deepEqual(
      FORMAT_NAMES.map((format) => readingsOf('\n', format).map(({ kind }) => kind)),
      [['refused'], [], []],
    )
  })

  it('may begin with a byte order mark and have blank lines', () => {
    const found = readDump(`\uFEFF${JSON.stringify(USER)}\r\n \r\n${JSON.stringify(USER)}`, 'document')
    assert.deepEqual(
      found.map(({ line, reading }) => [line, reading.kind]),
      [
        [1, 'user'],
        [3, 'user'],
      ],
    )
  })

  const ROW = JSON.stringify({ id: USER._id, key: USER._id, value: {}, doc: USER })
  const LISTINGS: readonly [row: string, text: string, found: readonly unknown[]][] = [
    [
      'whose list ends',
      `{"total_rows":2,"offset":0,"rows":[\r\n${ROW},\r\n${ROW}\r\n]}\n`,
      [
        [2, 'user'],
        [3, 'user'],
      ],
    ],
    ['without rows', '{"total_rows":0,"offset":0,"rows":[\r\n\r\n]}\n', []],
    [
      'whose list does not end',
      `{"rows":[\n${ROW},\n${ROW.slice(0, 30)}`,
      [
        [2, 'user'],
        [3, 'refused'],
        [3, 'refused'],
      ],
    ],
    [
      'with a broken row',
      `{"rows":[\n{"id":,\n${ROW}\n]}`,
      [
        [2, 'refused'],
        [3, 'user'],
      ],
    ],
  ]
  for (const [row, text, expected] of LISTINGS)
    it(`of a listing ${row}`, () =>
      assert.deepEqual(
        readDump(text, 'document').map(({ line, reading }) => [line, reading.kind]),
        expected,
      ))

  it('with a record that is too long is read on after it', () => {
    const long = JSON.stringify({ ...USER, padding: 'x'.repeat(MAX_RECORD_BYTES) })
    const found = readDump(`${JSON.stringify(USER)}\n${long}\n${JSON.stringify(USER)}`, 'document')
    assert.deepEqual(
      found.map(({ line, reading }) => [line, reading.kind]),
      [
        [1, 'user'],
        [2, 'refused'],
        [3, 'user'],
      ],
    )
  })

  it('of random bytes never throws', () => {
    const lines = fc.array(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.json().map((value) => `{"user":${value}}`),
        fc.json().map((value) => `{"_id":"${ID_PREFIX}a","type":"user","name":"a","roles":[],"iterations":${value}}`),
        fc.json().map((value) => `{"user":"a","authData":${value},"databases":${value},"accessTokens":${value}}`),
        fc
          .tuple(fc.constantFrom(...MUTABLE), fc.json())
          .map(([member, value]) => `{"user":{"name":"a","${member}":${value}}}`),
      ),
      { maxLength: 6 },
    )
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      lines.map((each) => Buffer.from(each.join('\n'))),
    )
    const head = Buffer.from('{"cardea":"directory","version":1}\n')
    fc.assert(
      fc.property(fc.constantFrom(...FORMAT_NAMES), bytes, (format, input) => {
        readDump(input, format)
        readDump(Buffer.concat([head, input]), format)
      }),
      { numRuns: 1000 },
    )
  })
})

const MUTABLE = [
  'active',
  'password',
  'revision',
  'sessionsFrom',
  'roles',
  'members',
  'grants',
  'extra',
  'config',
  'tokens',
]

describe('every format', () => {
  for (const name of FORMAT_NAMES) {
    it(`${name} reads its own empty dump without messages`, () => {
      const readings = readingsOf(writeDump([], name), name)
      assert.ok(readings.every(({ kind }) => kind !== 'refused' && kind !== 'user'))
    })
  }
})

const HEX = 'a'.repeat(64)
const ENTRIES: readonly [row: string, name: string, value: unknown, kind: string, written: string | undefined][] = [
  ['a hash', 'root', `-pbkdf2:sha256-${HEX},salt,10`, 'administrator', `-pbkdf2:sha256-${HEX},salt,10`],
  [
    'a hash whose length identifies the function',
    'root',
    `-pbkdf2-${HEX},salt,10`,
    'administrator',
    `-pbkdf2:sha256-${HEX},salt,10`,
  ],
  ['an old hash', 'root', `-hashed-${'a'.repeat(40)},salt`, 'administrator', `-hashed-${'a'.repeat(40)},salt`],
  ['plain text', 'root', 'secret', 'administrator', undefined],
  ['a damaged hash', 'root', '-pbkdf2-x,y', 'refused', undefined],
  ['an invalid name', 'a:b', 'secret', 'refused', undefined],
  ['a value that is not a string', 'root', 7, 'refused', undefined],
]

describe('an administrator of CouchDB', () => {
  for (const [row, name, value, kind, written] of ENTRIES) {
    it(row, () => {
      const reading = readAdministrator(name, value)
      assert.equal(reading.kind, kind)
      if (reading.kind === 'administrator') assert.equal(toDocumentAdministrator({ name, text: reading.text }), written)
      else assert.equal(JSON.stringify(reading).includes('x,y'), false)
    })
  }
})
