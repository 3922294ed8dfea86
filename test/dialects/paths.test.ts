import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../src/base/errors.ts'
import { readDocumentPath } from '../../src/dialects/document/steps.ts'
import { readMultiModelPath } from '../../src/dialects/multi-model/path.ts'
import { isAddressable } from '../../src/dialects/plain-segment.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

type Row = [raw: string, expected: string[] | string, database?: string, prefix?: string]

const DOCUMENT: Row[] = [
  ['/', []],
  ['/_session', ['_session']],
  ['/db/', ['db']],
  ['/%5Fsession', ['_session']],
  ['/db/a%2Fb', ['db', 'a/b']],
  ['/db/%C3%A9', ['db', 'é']],
  ['/db/\xc3\xa9', ['db', 'é']],
  ['/db/%252e%252e', ['db', '%2e%2e']],
  ['/db/a+b', ['db', 'a+b']],
  ['/a%2Fb/doc', ['a/b', 'doc']],
  ['/a%2Fb%2Fc', ['a/b/c']],
  ['/db/http%3A%2F%2Fexample.com%2Fa', ['db', 'http://example.com/a']],
  ['/db/.%2Fnotes%2Fa', ['db', './notes/a']],
  ['/db/C%3A%5Cnotes', ['db', 'C:\\notes']],
  ['/db/a..b%2F...', ['db', 'a..b/...']],
  ['/%2f_users', 'invalid_target'],
  ['/%2F_users/_all_docs', 'invalid_target'],
  ['/db%2f..%2f_users', 'invalid_target'],
  ['/db%2f.%2f_users', 'invalid_target'],
  ['/a%5c..%5c_users', 'invalid_target'],
  ['/%5c_users', 'invalid_target'],
  ['/a%5Cb', 'invalid_target'],
  ['/db%2f', 'invalid_target'],
  ['/db%2f%2fname', 'invalid_target'],
  ['/db/a%2F..%2F..%2F_users', 'invalid_target'],
  ['/db/..%2F_users', 'invalid_target'],
  ['/db/a%2F..', 'invalid_target'],
  ['/db/doc/..%5C..%5C_users', 'invalid_target'],
  ['//', 'invalid_target'],
  ['//db', 'invalid_target'],
  ['/db//doc', 'invalid_target'],
  ['/db/./doc', 'invalid_target'],
  ['/db/../_users', 'invalid_target'],
  ['/db/%2e%2e/_users', 'invalid_target'],
  ['/db/%2E', 'invalid_target'],
  ['/db/%zz', 'invalid_url_encoding'],
  ['/db/%', 'invalid_url_encoding'],
  ['/db/%ff', 'invalid_url_encoding'],
  ['/db/%00', 'invalid_url_encoding'],
]

const MULTI_MODEL: Row[] = [
  ['/', [], '_system'],
  ['/_api/version', ['_api', 'version'], '_system'],
  ['/_db/shop/_api/version', ['_api', 'version'], 'shop', '/_db/shop'],
  ['/_db/caf%C3%A9/_api/version', ['_api', 'version'], 'café', '/_db/caf%C3%A9'],
  ['/_db/shop', [], 'shop', '/_db/shop'],
  ['/_db/a%2Bb', [], 'a+b', '/_db/a%2Bb'],
  ['/_db/a%20b/', [], 'a b', '/_db/a%20b'],
  ['/_db/a+b', 'invalid_target'],
  ['/_db/cafe%CC%81', 'invalid_target'],
  ['/my-app/a+b', ['my-app', 'a+b'], '_system'],
  ['/_arango/v0', [], '_system', '/_arango/v0'],
  ['/_arango/v0/', [], '_system', '/_arango/v0'],
  ['/_arango/v0/_api/version', ['_api', 'version'], '_system', '/_arango/v0'],
  ['/_arango/experimental/_api/version', ['_api', 'version'], '_system', '/_arango/experimental'],
  ['/_arango/v0/_db/shop/_api/version', ['_api', 'version'], 'shop', '/_arango/v0/_db/shop'],
  ['/_arango/v0/_db', 'invalid_target'],
  ['/_arango', ['_arango'], '_system'],
  ['/_arango/v1/_api/version', ['_arango', 'v1', '_api', 'version'], '_system'],
  ['/_arango/v18446744073709551616', ['_arango', 'v18446744073709551616'], '_system'],
  ['/_ARANGO/v0/_api', ['_ARANGO', 'v0', '_api'], '_system'],
  ['/_arango/', 'bad_parameter'],
  ['/_arango/v00/_api', 'bad_parameter'],
  ['/_arango/v01/_api', 'bad_parameter'],
  ['/_arango/v', 'bad_parameter'],
  ['/_arango/v0x/_api', 'bad_parameter'],
  ['/_arango/V0/_api', 'bad_parameter'],
  ['/_arango/0/_api', 'bad_parameter'],
  ['/_arango/%760/_api', 'bad_parameter'],
  ['/_arango/experimental2/_api', 'bad_parameter'],
  ['/_arango/_db/shop/_api', 'bad_parameter'],
  ['/%5Farango/v0/_api', 'invalid_target'],
  ['/_arango/v0%2F_db/shop', 'invalid_target'],
  ['/_arango/v0/_arango/v0/_api', 'invalid_target'],
  ['/_db/shop/_arango/v0/_api', 'invalid_target'],
  ['/_arango/v0/_db/shop/_db/_system/_api', 'invalid_target'],
  ['/_db', ['_db'], '_system'],
  ['/my-app/hello%20world', ['my-app', 'hello world'], '_system'],
  ['/%5fapi/version', 'invalid_target'],
  ['/_%61pi/version', 'invalid_target'],
  ['/_op%65n/auth', 'invalid_target'],
  ['/_open/%2e%2e/_api/version', 'invalid_target'],
  ['/_open/../_api/version', 'invalid_target'],
  ['/_open%2f..%2f_api/version', 'invalid_target'],
  ['/_open%5c..%5c_api', 'invalid_target'],
  ['//_api/version', 'invalid_target'],
  ['/./_api/version', 'invalid_target'],
  ['/_db/a/_db/b/_api', 'invalid_target'],
  ['/_db//_api', 'invalid_target'],
  ['/my-app/%0d%0aX', 'invalid_target'],
  ['/my-app/%00', 'invalid_target'],
  ['/my-app/%ff', 'invalid_url_encoding'],
  ['/my-app/%f', 'invalid_url_encoding'],
]

for (const [dialect, read, rows] of [
  ['document', readDocumentPath, DOCUMENT],
  ['multi-model', readMultiModelPath, MULTI_MODEL],
] as const) {
  for (const [raw, expected, database, prefix = ''] of rows) {
    test(`${dialect}: ${JSON.stringify(raw)}`, () => {
      if (typeof expected === 'string')
        assert.throws(
          () => read(raw),
          (error) => error instanceof Refusal && error.code === expected,
        )
      else
        assert.deepEqual(read(raw), {
          raw,
          segments: expected,
          ...(database === undefined ? {} : { database, prefix }),
        })
    })
  }
}

test('multi-model: what can be addressed is what a path is read as', () => {
  const piece = fc.constantFrom(
    '_',
    '.',
    '..',
    '%',
    '2f',
    '25',
    '5F',
    '/',
    '\\',
    ';',
    '\u200b',
    '\uff3f',
    '\u2025',
    '\0',
    ' ',
  )
  const text = fc.array(fc.oneof(piece, fc.string({ unit: ANY_CHARACTER, maxLength: 3 })), {
    minLength: 1,
    maxLength: 5,
  })
  const isRead = (name: string) => {
    try {
      return readMultiModelPath(`/_api/user/${encodeURIComponent(name)}`).segments[2] === name
    } catch {
      return false
    }
  }
  fc.assert(
    fc.property(text, (pieces) => {
      const name = pieces.join('')
      if (name !== '' && name.isWellFormed()) assert.equal(isAddressable(name), isRead(name), JSON.stringify(name))
    }),
  )
})
