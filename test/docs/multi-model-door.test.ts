// The page names every path, option and claim of the door.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CORE_OPTIONS } from '../../src/config/option-table.ts'
import { MULTI_MODEL_ERRORS } from '../../src/dialects/multi-model/errors.ts'
import { tokensRoutes } from '../../src/dialects/multi-model/tokens.ts'
import { createMultiModelUsersRoutes } from '../../src/dialects/multi-model/users/routes.ts'

const PAGE = readFileSync(new URL('../../docs/reference/multi-model-door.md', import.meta.url), 'utf8')

const PATHS = [
  '/_open/auth',
  '/_open/auth/renew',
  '/_admin/server/jwt',
  '/_admin/server/availability',
  '/_admin/server/mode',
  '/_admin/auth/reload',
  '/_admin/status',
  '/_admin/version',
  '/_api/version',
  '/_api/user',
  '/_api/user/{u}',
  '/_api/user/{u}/database',
  '/_api/token/{u}',
  '/_api/database',
]

test('paths', () => {
  for (const path of PATHS) assert.ok(PAGE.includes(`${path}\``) || PAGE.includes(`${path} `), path)
})

test('no route below /_api/user and /_api/token was forgotten', () => {
  // the routes are only listed, nothing of this is called
  const deps = {} as never
  const known = [...createMultiModelUsersRoutes(deps), ...tokensRoutes(deps)].map(({ path }) => path)
  assert.deepEqual(known, [
    '/_api/user',
    '/_api/user/{user}',
    '/_api/user/{user}/database',
    '/_api/user/{user}/database/{database}',
    '/_api/user/{user}/database/{database}/{collection}',
    '/_api/user/{user}/config',
    '/_api/user/{user}/config/{key}',
    '/_api/user/{user}/{...}',
    '/_api/token',
    '/_api/token/{user}',
    '/_api/token/{user}/{id}',
    '/_api/token/{user}/{...}',
  ])
})

test('options', () => {
  const names = [
    ...Object.keys(CORE_OPTIONS.server).map((key) => `server.${key}`),
    ...Object.keys(CORE_OPTIONS.auth).map((key) => `auth.${key}`),
  ]
  for (const name of names) assert.ok(PAGE.includes(name), name)
})

test('claims', () => {
  for (const claim of [
    'iss',
    'preferred_username',
    'server_id',
    'exp',
    'allowed_paths',
    'iat',
    'jti',
    'cdg',
    'cdu',
    'cdt',
  ]) {
    assert.ok(PAGE.includes(`\`${claim}\``), claim)
  }
})

test('numbers of errors that clients distinguish', () => {
  const own = ['user_not_found', 'user_exists', 'user_name_refused', 'name_taken', 'system_database_only'] as const
  for (const code of [...own, 'secret_unreadable', 'database_not_found'] as const) {
    assert.ok(PAGE.includes(String(MULTI_MODEL_ERRORS[code].errorNum)), code)
  }
})
