import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DocumentSettings, UsersDeps, UsersSettings } from '../../../../src/dialects/document/deps.ts'
import type { DocumentRight } from '../../../../src/dialects/document/rights.ts'
import {
  needsPassword,
  type OwnChange,
  requireOwnChange,
  viewOf,
} from '../../../../src/dialects/document/users/authorize.ts'
import { createDocumentUsersRoutes } from '../../../../src/dialects/document/users/routes.ts'
import { ANONYMOUS, type Identity, NO_GRANTS } from '../../../../src/directory/identity.ts'
import { createEmptyUser } from '../../../../src/directory/users/revisions.ts'
import { createRouter } from '../../../../src/http/dispatch.ts'
import { readDocumentPassword } from '../../../../src/passwords/schemes.ts'

const SHUT: UsersSettings['chttpd_auth'] = { public_fields: [], users_db_public: false, allow_sign_up: false }
const withAuth = (auth: Partial<typeof SHUT>): UsersSettings => ({
  chttpd_auth: { ...SHUT, ...auth },
  couchdb: { users_db_deletable: false },
})
const CLOSED = withAuth({})
const LISTED = withAuth({ public_fields: ['nick'], users_db_public: true })
const OPEN = withAuth({ allow_sign_up: true })

const as = (name: string, isAdmin = false): Identity => ({ name, roles: [], isAdmin, grants: NO_GRANTS })
const OLD = createEmptyUser('ada', readDocumentPassword({}))
const CHANGE: OwnChange = { old: OLD, isDeletion: false, isOwn: true, setsPassword: false, keepsPassword: true }

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

/** What the route of a path needs. The other dependencies are for handlers, which do not run here. */
function usersRule(method: string, rest: readonly string[], settings: UsersSettings): 'open' | 'admin' {
  const deps = { database: '_users', prefix: 'org.couchdb.user:', settings: () => settings } as unknown as UsersDeps
  const match = createRouter(createDocumentUsersRoutes(deps))(['_users', ...rest])
  const right = match?.route.right as DocumentRight
  return right.isMet(as('ada'), { method, match }, {} as DocumentSettings) ? 'open' : 'admin'
}

for (const [method, path, closed, listed] of PATHS) {
  test(`${method} ${path || 'of the database'} is ${closed}, with public fields ${listed}`, () => {
    const rest = path.split('/').filter((part) => part !== '')
    assert.deepEqual([usersRule(method, rest, CLOSED), usersRule(method, rest, LISTED)], [closed, listed])
    assert.equal(usersRule(method, path === '' ? [] : [path], CLOSED), closed)
  })
}

test('the view depends on the reader and the public fields', () => {
  const ada = as('ada')
  assert.equal(viewOf(ada, 'ada', CLOSED), 'own')
  assert.equal(viewOf(ada, 'bob', CLOSED), 'none')
  assert.equal(viewOf(ada, 'bob', LISTED), 'public')
  assert.equal(viewOf(ada, 'bob', withAuth({ public_fields: ['nick'] })), 'none')
  assert.equal(viewOf(ada, 'bob', withAuth({ users_db_public: true })), 'none')
  assert.equal(viewOf(ANONYMOUS.identity, 'bob', LISTED), 'public')
  assert.equal(viewOf(as('root', true), 'bob', CLOSED), 'whole')
})

const ADA = as('ada')

const ROWS: readonly { name: string; who: Identity; change: Partial<OwnChange>; isAllowed: boolean }[] = [
  { name: 'members', who: ADA, change: {}, isAllowed: true },
  { name: 'the password', who: ADA, change: { setsPassword: true }, isAllowed: true },
  { name: 'deletion', who: ADA, change: { isDeletion: true, keepsPassword: false }, isAllowed: true },
  { name: 'the stored password', who: ADA, change: { keepsPassword: false }, isAllowed: false },
  { name: 'a missing document', who: ADA, change: { old: undefined }, isAllowed: false },
  {
    name: 'anything, by an administrator',
    who: as('root', true),
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

test('sign-up is open to anonymous requests only if it is enabled', () => {
  const change = { ...CHANGE, old: undefined, setsPassword: true }
  assert.doesNotThrow(() => requireOwnChange(ANONYMOUS.identity, change, OPEN))
  assert.throws(() => requireOwnChange(ANONYMOUS.identity, change, CLOSED), { code: 'forbidden' })
})

const PASSWORD_ROWS: readonly { name: string; who: Identity; change: Partial<OwnChange>; isNeeded: boolean }[] = [
  { name: 'members', who: ADA, change: {}, isNeeded: false },
  { name: 'the own password', who: ADA, change: { setsPassword: true }, isNeeded: true },
  { name: 'the own account, deleted', who: ADA, change: { isDeletion: true }, isNeeded: true },
  { name: 'a password of a new account', who: ADA, change: { old: undefined, setsPassword: true }, isNeeded: true },
  {
    name: 'an anonymous sign-up',
    who: ANONYMOUS.identity,
    change: { old: undefined, isOwn: false, setsPassword: true },
    isNeeded: false,
  },
  {
    name: "another user's password, by an administrator",
    who: as('root', true),
    change: { isOwn: false, setsPassword: true },
    isNeeded: false,
  },
  {
    name: 'a sign-up by another user',
    who: as('bob'),
    change: { old: undefined, isOwn: false, setsPassword: true },
    isNeeded: false,
  },
  { name: "the administrator's own password", who: as('ada', true), change: { setsPassword: true }, isNeeded: true },
]

for (const { name, who, change, isNeeded } of PASSWORD_ROWS) {
  test(`the password ${isNeeded ? 'must' : 'need not'} be proved for: ${name}`, () => {
    assert.equal(needsPassword(who, { ...CHANGE, ...change }), isNeeded)
  })
}
