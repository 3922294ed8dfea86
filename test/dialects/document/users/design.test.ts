import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { createDesignDocument } from '../../../../src/dialects/document/users/document.ts'
import { DOCUMENT_RULES } from '../../../../src/dialects/document/users/validate.ts'

const { members, revision } = createDesignDocument('org.couchdb.user:')
const text = String(new Map(members).get('validate_doc_update'))
const validate = runInNewContext(`(${text})`)

const ADMIN = { name: 'root', roles: ['_admin'] }
const ADA = { name: 'ada', roles: [] }
const GOOD = { _id: 'org.couchdb.user:ada', name: 'ada', type: 'user', roles: [] }

const ROWS: readonly { name: string; doc: object; old?: object | null; who?: object; expected: string | undefined }[] =
  [
    { name: 'good', doc: GOOD, expected: undefined },
    { name: 'a design document', doc: { _id: '_design/x' }, expected: undefined },
    { name: 'another type', doc: { ...GOOD, type: 'x' }, expected: 'doc.type must be user' },
    { name: 'another id', doc: { ...GOOD, _id: 'x' }, expected: 'Doc ID must be of the form org.couchdb.user:name' },
    {
      name: 'changed roles of the own document',
      doc: { ...GOOD, roles: ['x'] },
      old: GOOD,
      who: ADA,
      expected: 'Only _admin may edit roles',
    },
    { name: 'signing up', doc: GOOD, who: ADA, expected: undefined },
    {
      name: 'deletion of another',
      doc: { _deleted: true, _id: 'x' },
      old: { name: 'bob' },
      who: ADA,
      expected: 'Only admins may delete other user docs.',
    },
    { name: 'a scheme', doc: { ...GOOD, password_scheme: 'x' }, expected: 'Password scheme `x` not supported.' },
  ]

for (const { name, doc, old = null, who = ADMIN, expected } of ROWS) {
  test(`the function of the design document: ${name}`, () => {
    let actual: string | undefined
    try {
      validate(doc, old, who, {})
    } catch (error) {
      actual = (error as { forbidden: string }).forbidden
    }
    assert.equal(actual, expected)
  })
}

test('the function has the messages of the rules', () => {
  assert.match(revision, /^1-[0-9a-f]{32}$/)
  for (const { reason } of DOCUMENT_RULES) {
    if (typeof reason === 'string' && !reason.includes('See /_utils')) assert.ok(text.includes(reason), reason)
  }
})
