import { ADMIN, AS_ADMIN, type Request } from '../support/request.ts'
import { type Row, runRows } from '../support/rows.ts'

const USERS = '/_cardea/api/transfer/users'

const importing = (body: unknown): Request => ({
  method: 'POST',
  path: USERS,
  headers: { ...ADMIN, 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

const refused = (name: string, body: unknown, reason: string): Row => ({
  name,
  ...importing(body),
  expect: { status: 400, json: { error: 'bad_request', reason } },
})

const ANN = { name: 'ann', password: { password_scheme: 'simple', salt: 's', password_sha: 'x' } }

const ROWS: readonly Row[] = [
  { name: 'rejects an anonymous export', path: `${USERS}?format=cardea`, expect: { status: 401 } },
  { name: 'rejects an anonymous import', ...importing({ users: [] }), headers: {}, expect: { status: 401 } },
  {
    name: 'rejects an anonymous list of administrators',
    path: '/_cardea/api/transfer/administrators',
    expect: { status: 401 },
  },
  {
    name: 'rejects an anonymous list of administrators by the former path',
    path: '/_cardea/api/exchange/administrators',
    expect: { status: 401 },
  },
  {
    name: 'exports by the former path',
    path: '/_cardea/api/exchange/users?format=document',
    as: AS_ADMIN,
    expect: { status: 200, json: { users: [] } },
  },
  {
    name: 'imports by the former path',
    ...importing({ users: [] }),
    path: '/_cardea/api/exchange/users',
    expect: { status: 200, json: { outcomes: [] } },
  },
  {
    name: 'exports an empty directory',
    path: `${USERS}?format=document`,
    as: AS_ADMIN,
    expect: { status: 200, json: { users: [] } },
  },
  { name: 'imports an empty list', ...importing({ users: [] }), expect: { status: 200, json: { outcomes: [] } } },
  {
    name: 'returns one outcome for each record, in order',
    ...importing({ users: [{ name: 'a:b' }, ANN, 7, ANN, { name: 'admin' }, { name: 'bob', roles: ['_admin'] }] }),
    expect: {
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
  },
  {
    name: 'applies the password rules',
    options: { chttpd_auth: { password_regexp: '[{"long", "Longer."}]' } },
    ...importing({ users: [{ name: 'ann', password: { clear: 'x' } }] }),
    expect: {
      status: 200,
      json: { outcomes: [{ kind: 'refused', reason: 'Password does not conform to requirements. Longer.' }] },
    },
  },
  {
    name: 'applies the configured minimal length',
    options: { auth: { 'min-password-length': 4 } },
    ...importing({ users: [{ name: 'ann', password: { clear: 'üüü' } }] }),
    expect: {
      status: 200,
      json: {
        outcomes: [
          { kind: 'refused', reason: 'Password does not conform to requirements. Use at least 4 characters.' },
        ],
      },
    },
  },
  {
    name: 'applies the minimal length to administrators',
    options: { auth: { 'min-password-length': 4 } },
    ...importing({ name: 'boss', password: 'üüü' }),
    path: '/_cardea/api/administrators',
    expect: {
      status: 400,
      json: {
        error: 'password_refused',
        reason: 'Password does not conform to requirements. Use at least 4 characters.',
      },
    },
  },
  refused('rejects an import without users', {}, 'users is missing.'),
  refused('rejects users that are not a list', { users: {} }, 'users must be a list.'),
  refused('rejects a flag that is not a boolean', { users: [], replace: 'yes' }, 'replace must be true or false.'),
  refused('rejects more than 1000 users', { users: Array(1001).fill(7) }, 'users must have at most 1000 entries.'),
  {
    name: 'rejects an unknown format',
    path: `${USERS}?format=ldap`,
    as: AS_ADMIN,
    expect: {
      status: 400,
      json: { error: 'bad_request', reason: 'format must be one of cardea, document, multi-model.' },
    },
  },
]

for (const door of ['document', 'multiModel'] as const) runRows(door, ROWS)
