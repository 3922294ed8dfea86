// Which requests a read-only client may send, for every endpoint that CouchDB 3.5 has below a database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readDocumentPath } from '../../../src/dialects/document/steps.ts'
import { findNeed, READING_ENDPOINTS, runsJobs } from '../../../src/modules/document-grants/endpoints.ts'
import { ENDPOINTS, METHODS } from './couchdb-endpoints.ts'

const SPECIAL: readonly (readonly [reads: string, path: string, why: string])[] = [
  ['', '/shop/_design/a%2Fb/_update/u', 'the name of a design document with a slash'],
  ['', '/shop/_design%2Fapp/_update/u', 'a design document in one segment'],
  ['', '/shop/_design%2Fapp%2F_update%2Fu', 'an update function in one segment'],
  ['', '/shop/_design/app%2F_update/u', 'an encoded slash before the function'],
  ['GET HEAD', '/shop/_design/app%2F_view%2Fv', 'POST writes a document to CouchDB, although it resembles a view'],
  ['GET HEAD', '/shop/a%2F_all_docs', 'the id of a document'],
  ['GET HEAD', '/shop/_design/a%2F_view/v', 'an attachment, or a document with slashes'],
  ['', '/shop/_all_docs%2Fqueries', 'no id of a document'],
  ['', '/shop/_bulk_docs%2F', 'a slash at the end'],
  ['', '/shop/doc/%5Frewrite', 'an encoded underscore'],
  ['', '/shop/%5fbulk_docs', 'an encoded underscore'],
  ['POST', '/shop/%5ffind', 'an encoded underscore'],
  ['', '/shop/_ALL_DOCS', 'other letters'],
  ['', '/shop/_all_docs;x', 'a parameter of a segment'],
  ['', '/_arango/v0/shop/doc', 'the version prefix of the other door'],
]

const readers = (path: string): readonly string[] => {
  const { segments } = readDocumentPath(path)
  return METHODS.filter((method) => findNeed(method, segments).level === 'ro')
}

for (const [reads, paths] of ENDPOINTS)
  for (const path of paths.split(' '))
    test(`${path} is read with ${reads || 'no method'}`, () => assert.equal(readers(path).join(' '), reads))

for (const [reads, path, why] of SPECIAL)
  test(`${path} is read with ${reads || 'no method'}: ${why}`, () => assert.equal(readers(path).join(' '), reads))

test('every row of the table is in the list above, with and without a partition', () => {
  const listed = ENDPOINTS.flatMap(([, paths]) => paths.split(' '))
    .map(
      (path) =>
        `/${readDocumentPath(path)
          .segments.map((each) => each.replaceAll('/', '-'))
          .join('/')}`,
    )
    .join('\n')
  for (const path of Object.keys(READING_ENDPOINTS)) {
    const whole = path.replace('/_partition/{partition}/', '/')
    const pattern = whole.replace(/\/\{\.\.\.\}$/, '(/.+)?').replaceAll(/\{\w+\}/g, '[^/]+')
    assert.match(listed, new RegExp(`^${pattern}$`, 'm'), path)
    assert.deepEqual(READING_ENDPOINTS[path], READING_ENDPOINTS[whole], path)
  }
})

test('encoding any character of a path does not change what it needs', () => {
  const paths = ENDPOINTS.flatMap(([, each]) => each.split(' ')).filter((path) => /^\/[\w/.-]+$/.test(path))
  const encode = (path: string, bits: readonly boolean[], isUpper: boolean) =>
    [...path].map((character, index) => {
      if (character === '/' || !bits[index % bits.length]) return character
      const hex = character.charCodeAt(0).toString(16)
      return `%${isUpper ? hex.toUpperCase() : hex}`
    })
  fc.assert(
    fc.property(
      fc.constantFrom(...paths),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      (path, bits, isUpper) => assert.deepEqual(readers(encode(path, bits, isUpper).join('')), readers(path)),
    ),
    { numRuns: 300 },
  )
})

test('a function of CouchDB without a row is never read, at any depth of a database', () => {
  const word = fc.stringMatching(/^[a-z_]{1,12}$/)
  const known = new Set(Object.keys(READING_ENDPOINTS).flatMap((path) => path.split('/')))
  fc.assert(
    fc.property(
      word,
      fc.constantFrom(['shop'], ['shop', '_design', 'app'], ['shop', '_partition', 'p']),
      (name, front) => {
        fc.pre(!known.has(`_${name}`))
        for (const method of METHODS) assert.equal(findNeed(method, [...front, `_${name}`]).level, 'rw')
        for (const method of METHODS) assert.equal(findNeed(method, [...front, `_${name}`, 'x']).level, 'rw')
      },
    ),
    { numRuns: 300 },
  )
})

test('only a checkpoint has a limit on its body', () => {
  assert.equal(findNeed('PUT', ['shop', '_local', 'a'.repeat(32)]).maxBodyBytes, 65_536)
  assert.equal(findNeed('POST', ['shop', '_find']).maxBodyBytes, undefined)
})

test('databases whose jobs CouchDB runs are known by the end of their names', () => {
  for (const path of ['/_replicate', '/_replicator/doc', '/a%2F_replicator', '/a%2fb%2F%5Freplicator/_bulk_docs'])
    assert.equal(runsJobs(readDocumentPath(path).segments), true, path)
  for (const path of ['/replicator', '/a_replicator', '/a%2F_replicator%2Fb', '/shop/_replicator'])
    assert.equal(runsJobs(readDocumentPath(path).segments), false, path)
})
