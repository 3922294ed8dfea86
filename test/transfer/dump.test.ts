import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readAdministrator, toDocumentAdministrator } from '../../src/transfer/document.ts'
import { MAX_RECORD_BYTES } from '../../src/transfer/dump.ts'
import { FORMAT_NAMES } from '../../src/transfer/format-names.ts'
import { FORMATS } from '../../src/transfer/formats.ts'
import { ID_PREFIX, readDump, readingsOf } from './read.ts'

const USER = { _id: `${ID_PREFIX}ann`, name: 'ann', type: 'user', roles: [] }

describe('a dump', () => {
  it('of an unknown format is rejected once', () => {
    assert.deepEqual(
      readingsOf('{"hello":1}\n{"hello":2}').map(({ kind }) => kind),
      ['refused'],
    )
  })

  it('is recognised by its first readable record', () => {
    assert.deepEqual(
      readingsOf(`{"broken\n${JSON.stringify(USER)}`).map(({ kind }) => kind),
      ['refused', 'user'],
    )
  })

  it('with a record that is too long is read on after it', () => {
    const long = JSON.stringify({ ...USER, padding: 'x'.repeat(MAX_RECORD_BYTES) })
    const found = readDump(`${JSON.stringify(USER)}\n${long}\n${JSON.stringify(USER)}`)
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
      fc.property(fc.constantFrom(...FORMAT_NAMES, undefined), bytes, (format, input) => {
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
      const writer = FORMATS[name].createWriter({ idPrefix: ID_PREFIX, administrators: [] })
      const readings = readingsOf(`${writer.head}${writer.tail(0)}`, name)
      assert.ok(readings.every(({ kind }) => kind === 'passed'))
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
