import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { createDesignDocument } from '../../../../src/dialects/document/users/design.ts'
import { RULES } from '../../../../src/dialects/document/users/validate.ts'

const { members, revision } = createDesignDocument('org.couchdb.user:')
const text = String(new Map(members).get('validate_doc_update'))
const validate = runInNewContext(`(${text})`)

const ADMIN = { name: 'root', roles: ['_admin'] }
const ADA = { name: 'ada', roles: [] }
const GOOD = { _id: 'org.couchdb.user:ada', name: 'ada', type: 'user', roles: [] }

const ROWS: readonly { name: string; doc: object; old?: object | null; who?: object; says: string | undefined }[] = [
  { name: 'good', doc: GOOD, says: undefined },
  { name: 'a design document', doc: { _id: '_design/x' }, says: undefined },
  { name: 'another type', doc: { ...GOOD, type: 'x' }, says: 'doc.type must be user' },
  { name: 'another id', doc: { ...GOOD, _id: 'x' }, says: 'Doc ID must be of the form org.couchdb.user:name' },
  { name: 'roles of the own', doc: { ...GOOD, roles: ['x'] }, old: GOOD, who: ADA, says: 'Only _admin may edit roles' },
  { name: 'signing up', doc: GOOD, who: ADA, says: undefined },
  {
    name: 'deletion of another',
    doc: { _deleted: true, _id: 'x' },
    old: { name: 'bob' },
    who: ADA,
    says: 'Only admins may delete other user docs.',
  },
  { name: 'a scheme', doc: { ...GOOD, password_scheme: 'x' }, says: 'Password scheme `x` not supported.' },
]

for (const { name, doc, old = null, who = ADMIN, says } of ROWS) {
  test(`the function of the design document: ${name}`, () => {
    let said: string | undefined
    try {
      validate(doc, old, who, {})
    } catch (error) {
      said = (error as { forbidden: string }).forbidden
    }
    assert.equal(said, says)
  })
}

test('it says what the rules say', () => {
  assert.match(revision, /^1-[0-9a-f]{32}$/)
  for (const { reason } of RULES) {
    if (typeof reason === 'string' && !reason.includes('See /_utils')) assert.ok(text.includes(reason), reason)
  }
})
