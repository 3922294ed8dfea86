import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkProposal, type Proposal } from '../../../../src/dialects/document/users/validate.ts'
import { NO_GRANTS } from '../../../../src/directory/identity.ts'
import { createUser, type User } from '../../../../src/directory/user.ts'
import { readDocumentPassword } from '../../../../src/passwords/password.ts'

const PREFIX = 'org.couchdb.user:'
const ADMIN = { name: 'root', roles: ['_admin'], isAdmin: true, grants: NO_GRANTS }
const ADA = { name: 'ada', roles: [], isAdmin: false, grants: NO_GRANTS }
const ANONYMOUS = { name: null, roles: [], isAdmin: false, grants: NO_GRANTS }

function stored(name: string, roles: readonly string[] = []): User {
  const user = createUser(name, readDocumentPassword({}))
  return { ...user, document: { ...user.document, roles } }
}

const GOOD = { name: 'ada', type: 'user', roles: [] }

function propose(members: object, rest: Partial<Proposal> = {}): string | undefined {
  return checkProposal({
    id: `${PREFIX}ada`,
    prefix: PREFIX,
    isDeletion: false,
    members: new Map(Object.entries({ ...GOOD, ...members })),
    old: undefined,
    keepsPassword: false,
    writer: ADMIN,
    ...rest,
  })
}

const HASH = { password_scheme: 'pbkdf2', iterations: 10, derived_key: 'ab', salt: 'cd' }
const ID = 'Doc ID must be of the form org.couchdb.user:name'

/** In the order of the rules. Every sentence is what clients of the document database look for. */
const ROWS: readonly { name: string; members?: object; rest?: Partial<Proposal>; says: string | undefined }[] = [
  { name: 'good', says: undefined },
  { name: 'a stored password', members: HASH, says: undefined },
  { name: 'no type', members: { type: undefined }, says: 'doc.type must be user' },
  { name: 'another type', members: { type: 'User' }, says: 'doc.type must be user' },
  { name: 'no name', members: { name: undefined }, says: 'doc.name is required' },
  { name: 'an empty name', members: { name: '' }, says: 'doc.name is required' },
  { name: 'no roles', members: { roles: undefined }, says: 'doc.roles must exist' },
  { name: 'roles null', members: { roles: null }, says: 'doc.roles must exist' },
  { name: 'roles as text', members: { roles: 'x' }, says: 'doc.roles must be an array' },
  { name: 'roles as an object', members: { roles: { length: 0 } }, says: 'doc.roles must be an array' },
  { name: 'a role that is none', members: { roles: ['a', 1] }, says: 'doc.roles can only contain strings' },
  { name: 'another name', members: { name: 'bob' }, says: ID },
  { name: 'a name that is a number', members: { name: 1 }, rest: { id: `${PREFIX}1` }, says: ID },
  { name: 'another id', rest: { id: 'ada' }, says: ID },
  { name: 'a new name', rest: { old: stored('bob') }, says: 'Usernames can not be changed.' },
  {
    name: 'a digest without salt',
    members: { password_sha: 'ab' },
    says: 'Users with password_sha must have a salt.See /_utils/script/couch.js for example code.',
  },
  { name: 'a scheme nobody knows', members: { password_scheme: 'md5' }, says: 'Password scheme `md5` not supported.' },
  {
    name: 'a scheme that is an object with a will of its own',
    members: { password_scheme: { toString: 1, valueOf: 1 } },
    says: 'Password scheme `{"toString":1,"valueOf":1}` not supported.',
  },
  {
    name: 'a scheme that was there before',
    members: { password_scheme: 'salted' },
    rest: { keepsPassword: true },
    says: undefined,
  },
  { name: 'iterations as text', members: { ...HASH, iterations: '10' }, says: 'iterations must be a number.' },
  { name: 'a key that is none', members: { ...HASH, derived_key: 7 }, says: 'derived_key must be a string.' },
  {
    name: "another's document",
    rest: { old: stored('ada'), writer: { ...ADA, name: 'bob' } },
    says: 'You may only update your own user document.',
  },
  { name: 'the own document', rest: { old: stored('ada'), writer: ADA }, says: undefined },
  {
    name: 'a role more',
    members: { roles: ['x'] },
    rest: { old: stored('ada'), writer: ADA },
    says: 'Only _admin may edit roles',
  },
  {
    name: 'a role twice',
    members: { roles: ['x', 'x', 'y'] },
    rest: { old: stored('ada', ['x', 'y', 'y']), writer: ADA },
    says: 'Only _admin may edit roles',
  },
  {
    name: 'roles in another order',
    members: { roles: ['x', 'y'] },
    rest: { old: stored('ada', ['y', 'x']), writer: ADA },
    says: undefined,
  },
  {
    name: 'signing up with roles',
    members: { roles: ['x'] },
    rest: { writer: ANONYMOUS },
    says: 'Only _admin may set roles',
  },
  {
    name: 'a role of the system',
    members: { roles: ['_admin'] },
    says: 'No system roles (starting with underscore) in users db.',
  },
  { name: 'the open role of the system', members: { roles: ['_metrics'] }, says: undefined },
  {
    name: 'an underscore',
    members: { name: '_ada' },
    rest: { id: `${PREFIX}_ada` },
    says: 'Username may not start with underscore.',
  },
  {
    name: 'a colon',
    members: { name: 'a:b' },
    rest: { id: `${PREFIX}a:b` },
    says: 'Character `:` is not allowed in usernames.',
  },
  { name: 'deletion by an administrator', rest: { isDeletion: true, old: stored('ada') }, says: undefined },
  {
    name: 'deletion of the own document',
    rest: { isDeletion: true, old: stored('ada'), writer: ADA },
    says: undefined,
  },
  {
    name: "deletion of another's document",
    rest: { isDeletion: true, old: stored('bob'), writer: ADA },
    says: 'Only admins may delete other user docs.',
  },
  {
    name: 'deletion of nothing',
    rest: { isDeletion: true, writer: ANONYMOUS },
    says: 'Only admins may delete other user docs.',
  },
]

for (const { name, members = {}, rest, says } of ROWS) {
  test(`document: ${name}`, () => assert.equal(propose(members, rest), says))
}

test('the first rule that is broken is told', () => {
  assert.equal(propose({ type: 'x', name: '', roles: [1] }), 'doc.type must be user')
  assert.equal(
    propose({ name: '_a:b', roles: ['_x'] }, { id: `${PREFIX}_a:b` }),
    'No system roles (starting with underscore) in users db.',
  )
})
