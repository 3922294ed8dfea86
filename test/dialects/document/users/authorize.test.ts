import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type OwnChange,
  requireOwnChange,
  usersRule,
  viewOf,
} from '../../../../src/dialects/document/users/authorize.ts'
import { ANONYMOUS, type Authenticated, NO_GRANTS } from '../../../../src/identity/identity.ts'
import { readDocumentPassword } from '../../../../src/identity/password/password.ts'
import { createUser } from '../../../../src/identity/user.ts'

const CLOSED = { publicFields: [], isPublic: false, allowsSignUp: false, isDeletable: false }
const LISTED = { ...CLOSED, publicFields: ['nick'], isPublic: true }
const OPEN = { ...CLOSED, allowsSignUp: true }

const as = (name: string, by: string, isAdmin = false): Authenticated => ({
  identity: { name, roles: [], isAdmin, grants: NO_GRANTS },
  by,
})
const OLD = createUser('ada', readDocumentPassword({}))
const CHANGE: OwnChange = { old: OLD, isDeletion: false, setsPassword: false, keepsPassword: true }

const PATHS: readonly [method: string, path: string, closed: string, listed: string][] = [
  ['GET', '', 'open', 'open'],
  ['POST', '', 'open', 'open'],
  ['PUT', '', 'admin', 'admin'],
  ['DELETE', '', 'admin', 'admin'],
  ['GET', 'org.couchdb.user:ada', 'open', 'open'],
  ['GET', '_all_docs', 'admin', 'open'],
  ['POST', '_all_docs', 'admin', 'open'],
  ['GET', '_changes', 'admin', 'admin'],
  ['GET', '_local/x', 'admin', 'admin'],
  ['PUT', '_security', 'open', 'open'],
]

for (const [method, path, closed, listed] of PATHS) {
  test(`${method} ${path || 'of the database'} asks for ${closed}, with public fields for ${listed}`, () => {
    const rest = path.split('/').filter((part) => part !== '')
    assert.deepEqual([usersRule(method, rest, CLOSED), usersRule(method, rest, LISTED)], [closed, listed])
    assert.equal(usersRule(method, path === '' ? [] : [path], CLOSED), closed)
  })
}

test('who sees how much', () => {
  const { identity: ada } = as('ada', 'default')
  assert.equal(viewOf(ada, 'ada', CLOSED), 'whole')
  assert.equal(viewOf(ada, 'bob', CLOSED), 'none')
  assert.equal(viewOf(ada, 'bob', LISTED), 'public')
  assert.equal(viewOf(ada, 'bob', { ...LISTED, isPublic: false }), 'none')
  assert.equal(viewOf(ada, 'bob', { ...LISTED, publicFields: [] }), 'none')
  assert.equal(viewOf(ANONYMOUS.identity, 'bob', LISTED), 'public')
  assert.equal(viewOf(as('root', 'jwt', true).identity, 'bob', CLOSED), 'whole')
})

const ROWS: readonly { name: string; who: Authenticated; change: Partial<OwnChange>; isAllowed: boolean }[] = [
  { name: 'members, by a token', who: as('ada', 'jwt'), change: {}, isAllowed: true },
  { name: 'the password, by Basic', who: as('ada', 'default'), change: { setsPassword: true }, isAllowed: true },
  { name: 'the password, by a cookie', who: as('ada', 'cookie'), change: { setsPassword: true }, isAllowed: true },
  { name: 'the password, by a token', who: as('ada', 'jwt'), change: { setsPassword: true }, isAllowed: false },
  { name: 'the password, by a proxy', who: as('ada', 'proxy'), change: { setsPassword: true }, isAllowed: false },
  {
    name: 'deletion, by a cookie',
    who: as('ada', 'cookie'),
    change: { isDeletion: true, keepsPassword: false },
    isAllowed: true,
  },
  { name: 'deletion, by a token', who: as('ada', 'jwt'), change: { isDeletion: true }, isAllowed: false },
  { name: 'deletion, by a proxy', who: as('ada', 'proxy'), change: { isDeletion: true }, isAllowed: false },
  {
    name: 'the password, by a cookie that rests on a token',
    who: {
      ...as('ada', 'cookie'),
      origin: { issuedAt: 1, expiresAt: 2, algorithm: 'HS256', kid: undefined, keyVersion: 'x' },
    },
    change: { setsPassword: true },
    isAllowed: false,
  },
  { name: 'the stored password', who: as('ada', 'default'), change: { keepsPassword: false }, isAllowed: false },
  { name: 'a document that is not there', who: as('ada', 'default'), change: { old: undefined }, isAllowed: false },
  {
    name: 'anything, by an administrator',
    who: as('root', 'jwt', true),
    change: { keepsPassword: false, setsPassword: true },
    isAllowed: true,
  },
]

for (const { name, who, change, isAllowed } of ROWS) {
  test(`${isAllowed ? 'may' : 'may not'} change: ${name}`, () => {
    const attempt = () => requireOwnChange(who, { ...CHANGE, ...change }, CLOSED)
    if (isAllowed) assert.doesNotThrow(attempt)
    else assert.throws(attempt, { code: 'forbidden' })
  })
}

test('signing up is open to anybody where it is open', () => {
  const change = { ...CHANGE, old: undefined, setsPassword: true }
  assert.doesNotThrow(() => requireOwnChange(ANONYMOUS, change, OPEN))
  assert.throws(() => requireOwnChange(ANONYMOUS, change, CLOSED), { code: 'forbidden' })
  assert.throws(() => requireOwnChange(as('ada', 'jwt'), change, OPEN), { code: 'forbidden' })
})
