import { ADMIN, runScenarios, type Scenario, type Sent } from '../support/scenario.ts'

const USERS = '/_cardea/api/exchange/users'

const importing = (body: unknown): Sent => ({
  method: 'POST',
  path: USERS,
  headers: { ...ADMIN, 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

const refused = (name: string, body: unknown, reason: string): Scenario => ({
  name,
  send: importing(body),
  status: 400,
  json: { error: 'bad_request', reason },
})

const ANN = { name: 'ann', password: { password_scheme: 'simple', salt: 's', password_sha: 'x' } }

const ROWS: readonly Scenario[] = [
  { name: 'nobody exports', send: { path: `${USERS}?format=cardea` }, status: 401 },
  { name: 'nobody imports', send: { ...importing({ users: [] }), headers: {} }, status: 401 },
  { name: 'nobody sees administrators', send: { path: '/_cardea/api/exchange/administrators' }, status: 401 },
  {
    name: 'an export of nobody',
    send: { path: `${USERS}?format=document`, headers: ADMIN },
    status: 200,
    json: { users: [] },
  },
  { name: 'an import of nobody', send: importing({ users: [] }), status: 200, json: { outcomes: [] } },
  {
    name: 'each record of an import has its own outcome, in its place',
    send: importing({ users: [{ name: 'a:b' }, ANN, 7, ANN, { name: 'admin' }, { name: 'bob', roles: ['_admin'] }] }),
    status: 200,
    json: {
      outcomes: [
        { kind: 'refused', reason: 'The name must not hold a colon.' },
        { kind: 'created' },
        { kind: 'refused', reason: 'user must be an object.' },
        { kind: 'kept' },
        { kind: 'refused', reason: 'An administrator has this name.' },
        { kind: 'refused', reason: 'A role must not begin with an underscore.' },
      ],
    },
  },
  {
    name: 'a new password is judged by the rules',
    options: { chttpd_auth: { password_regexp: '[{"long", "Longer."}]' } },
    send: importing({ users: [{ name: 'ann', password: { clear: 'x' } }] }),
    status: 200,
    json: { outcomes: [{ kind: 'refused', reason: 'Password does not conform to requirements. Longer.' }] },
  },
  {
    name: 'a new password has the configured length at least',
    options: { auth: { 'min-password-length': 4 } },
    send: importing({ users: [{ name: 'ann', password: { clear: 'üüü' } }] }),
    status: 200,
    json: {
      outcomes: [{ kind: 'refused', reason: 'Password does not conform to requirements. Use at least 4 characters.' }],
    },
  },
  {
    name: 'so does that of an administrator',
    options: { auth: { 'min-password-length': 4 } },
    send: { ...importing({ name: 'boss', password: 'üüü' }), path: '/_cardea/api/administrators' },
    status: 400,
    json: {
      error: 'password_refused',
      reason: 'Password does not conform to requirements. Use at least 4 characters.',
    },
  },
  refused('an import without users', {}, 'users is missing.'),
  refused('users that are no list', { users: {} }, 'users must be a list.'),
  refused('a word for yes', { users: [], replace: 'yes' }, 'replace must be true or false.'),
  refused('more than the store should wait for', { users: Array(1001).fill(7) }, 'users must be 1000 at most.'),
  {
    name: 'an export of a form nobody knows',
    send: { path: `${USERS}?format=ldap`, headers: ADMIN },
    status: 400,
    json: { error: 'bad_request', reason: 'format must be one of cardea, document, multi-model.' },
  },
]

for (const door of ['document', 'multiModel'] as const) runScenarios(door, ROWS)
