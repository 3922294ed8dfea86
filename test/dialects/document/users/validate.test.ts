import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkProposal, type Proposal } from '../../../../src/dialects/document/users/validate.ts'
import { NO_GRANTS } from '../../../../src/directory/identity.ts'
import { createEmptyUser } from '../../../../src/directory/users/revisions.ts'
import type { User } from '../../../../src/directory/users/user.ts'
import { readDocumentPassword } from '../../../../src/passwords/schemes.ts'

const PREFIX = 'org.couchdb.user:'
const ADMIN = { name: 'root', roles: ['_admin'], isAdmin: true, grants: NO_GRANTS }
const ADA = { name: 'ada', roles: [], isAdmin: false, grants: NO_GRANTS }
const ANONYMOUS = { name: null, roles: [], isAdmin: false, grants: NO_GRANTS }

function stored(name: string, roles: readonly string[] = []): User {
  const user = createEmptyUser(name, readDocumentPassword({}))
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

/** In the order of the rules. The messages are those of CouchDB. */
const ROWS: readonly { name: string; members?: object; rest?: Partial<Proposal>; expected: string | undefined }[] = [
  { name: 'good', expected: undefined },
  { name: 'a stored password', members: HASH, expected: undefined },
  { name: 'no type', members: { type: undefined }, expected: 'doc.type must be user' },
  { name: 'another type', members: { type: 'User' }, expected: 'doc.type must be user' },
  { name: 'no name', members: { name: undefined }, expected: 'doc.name is required' },
  { name: 'an empty name', members: { name: '' }, expected: 'doc.name is required' },
  { name: 'no roles', members: { roles: undefined }, expected: 'doc.roles must exist' },
  { name: 'roles null', members: { roles: null }, expected: 'doc.roles must exist' },
  { name: 'roles as a string', members: { roles: 'x' }, expected: 'doc.roles must be an array' },
  { name: 'roles as an object', members: { roles: { length: 0 } }, expected: 'doc.roles must be an array' },
  { name: 'a role that is not a string', members: { roles: ['a', 1] }, expected: 'doc.roles can only contain strings' },
  { name: 'another name', members: { name: 'bob' }, expected: ID },
  { name: 'a name that is a number', members: { name: 1 }, rest: { id: `${PREFIX}1` }, expected: ID },
  { name: 'another id', rest: { id: 'ada' }, expected: ID },
  { name: 'a changed name', rest: { old: stored('bob') }, expected: 'Usernames can not be changed.' },
  {
    name: 'a digest without salt',
    members: { password_sha: 'ab' },
    expected: 'Users with password_sha must have a salt.See /_utils/script/couch.js for example code.',
  },
  { name: 'an unknown scheme', members: { password_scheme: 'md5' }, expected: 'Password scheme `md5` not supported.' },
  {
    name: 'an object with a member toString as scheme',
    members: { password_scheme: { toString: 1, valueOf: 1 } },
    expected: 'Password scheme `{"toString":1,"valueOf":1}` not supported.',
  },
  {
    name: 'an unknown scheme that was stored before',
    members: { password_scheme: 'salted' },
    rest: { keepsPassword: true },
    expected: undefined,
  },
  { name: 'iterations as a string', members: { ...HASH, iterations: '10' }, expected: 'iterations must be a number.' },
  {
    name: 'a derived key that is not a string',
    members: { ...HASH, derived_key: 7 },
    expected: 'derived_key must be a string.',
  },
  {
    name: "another's document",
    rest: { old: stored('ada'), writer: { ...ADA, name: 'bob' } },
    expected: 'You may only update your own user document.',
  },
  { name: 'the own document', rest: { old: stored('ada'), writer: ADA }, expected: undefined },
  {
    name: 'an added role',
    members: { roles: ['x'] },
    rest: { old: stored('ada'), writer: ADA },
    expected: 'Only _admin may edit roles',
  },
  {
    name: 'a repeated role',
    members: { roles: ['x', 'x', 'y'] },
    rest: { old: stored('ada', ['x', 'y', 'y']), writer: ADA },
    expected: 'Only _admin may edit roles',
  },
  {
    name: 'roles in another order',
    members: { roles: ['x', 'y'] },
    rest: { old: stored('ada', ['y', 'x']), writer: ADA },
    expected: undefined,
  },
  {
    name: 'signing up with roles',
    members: { roles: ['x'] },
    rest: { writer: ANONYMOUS },
    expected: 'Only _admin may set roles',
  },
  {
    name: 'a system role',
    members: { roles: ['_admin'] },
    expected: 'No system roles (starting with underscore) in users db.',
  },
  { name: 'the role _metrics', members: { roles: ['_metrics'] }, expected: undefined },
  {
    name: 'an underscore',
    members: { name: '_ada' },
    rest: { id: `${PREFIX}_ada` },
    expected: 'Username may not start with underscore.',
  },
  {
    name: 'a colon',
    members: { name: 'a:b' },
    rest: { id: `${PREFIX}a:b` },
    expected: 'Character `:` is not allowed in usernames.',
  },
  { name: 'deletion by an administrator', rest: { isDeletion: true, old: stored('ada') }, expected: undefined },
  {
    name: 'deletion of the own document',
    rest: { isDeletion: true, old: stored('ada'), writer: ADA },
    expected: undefined,
  },
  {
    name: "deletion of another's document",
    rest: { isDeletion: true, old: stored('bob'), writer: ADA },
    expected: 'Only admins may delete other user docs.',
  },
  {
    name: 'deletion of a missing document',
    rest: { isDeletion: true, writer: ANONYMOUS },
    expected: 'Only admins may delete other user docs.',
  },
]

for (const { name, members = {}, rest, expected } of ROWS) {
  test(`document: ${name}`, () => assert.equal(propose(members, rest), expected))
}

test('the first broken rule decides the message', () => {
  assert.equal(propose({ type: 'x', name: '', roles: [1] }), 'doc.type must be user')
  assert.equal(
    propose({ name: '_a:b', roles: ['_x'] }, { id: `${PREFIX}_a:b` }),
    'No system roles (starting with underscore) in users db.',
  )
})
