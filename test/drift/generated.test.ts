import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ApiPage, readClient, readLibrary } from '../../scripts/api-pages.ts'
import { CORE_OPTIONS } from '../../src/config/option-table.ts'

test('generated files say what their tables and declarations say', async () => {
  // tools have looser types than tests
  const { findStale, GENERATED } = await import(new URL('../../scripts/generate.ts', import.meta.url).href)
  assert.ok(Object.keys(GENERATED).length > 5)
  assert.deepEqual(findStale(), [], 'stale: run node scripts/generate.ts')
})

const EXAMPLES: Readonly<Record<string, () => ApiPage>> = { 'library.mjs': readLibrary, 'client.mjs': readClient }

for (const [file, read] of Object.entries(EXAMPLES))
  test(`examples/calls/${file} has an example for each call, and no other`, () => {
    const { parts, examples } = read()
    const calls = parts.flatMap((part) => part.calls.map(({ name }) => name))
    const shown = [...examples.keys()].filter((name) => name !== '')
    assert.deepEqual(shown.toSorted(), calls.toSorted(), `add it to examples/calls/${file}, below a line // # name`)
  })

/** Every option the contract names, by section. */
const CONTRACT: Readonly<Record<string, readonly string[]>> = {
  chttpd: ['require_valid_user', 'require_valid_user_except_for_up'],
  chttpd_auth: [
    'allow_persistent_cookies',
    'cookie_domain',
    'same_site',
    'auth_cache_size',
    'authentication_redirect',
    'hash_algorithms',
    'iterations',
    'min_iterations',
    'max_iterations',
    'password_regexp',
    'proxy_use_secret',
    'public_fields',
    'users_db_public',
    'secret',
    'timeout',
    'x_auth_roles',
    'x_auth_token',
    'x_auth_username',
  ],
  jwt_auth: ['required_claims', 'roles_claim_name', 'roles_claim_path'],
  server: [
    'authentication',
    'authentication-system-only',
    'session-timeout',
    'jwt-secret',
    'jwt-secret-keyfile',
    'jwt-secret-folder',
  ],
}

for (const [section, keys] of Object.entries(CONTRACT)) {
  test(`every option the contract names in [${section}] is in the table`, () => {
    const known = new Set(Object.keys(new Map(Object.entries(CORE_OPTIONS)).get(section) ?? {}))
    assert.deepEqual(
      keys.filter((key) => !known.has(key)),
      [],
    )
  })
}
