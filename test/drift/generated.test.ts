import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { renderEventsPage } from '../../scripts/events-page.ts'
import { renderDefaultIni, renderOptionsPage } from '../../scripts/options-page.ts'
import { OPTIONS } from '../../src/config/option-table.ts'

const ROOT = join(import.meta.dirname, '../..')

for (const [path, render] of Object.entries({
  'etc/default.ini': renderDefaultIni,
  'docs/reference/options.md': renderOptionsPage,
  'docs/reference/security-events.md': renderEventsPage,
})) {
  test(`${path} says what the table says`, () => {
    assert.ok(readFileSync(join(ROOT, path), 'utf8') === render(), 'stale: run node scripts/generate.ts')
  })
}

test('the generator agrees that nothing is stale', () => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/generate.ts'), '--check'], { stdio: 'pipe' })
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
    const known = new Set(Object.keys(new Map(Object.entries(OPTIONS)).get(section) ?? {}))
    assert.deepEqual(
      keys.filter((key) => !known.has(key)),
      [],
    )
  })
}
