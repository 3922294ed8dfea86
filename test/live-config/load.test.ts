import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { toFlags } from '../../src/config/flags.ts'
import { loadStoredConfiguration } from '../../src/live-config/load.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { ADMIN, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'

const inputOf = (url: string) => ({
  table: OPTION_TABLE,
  flags: { configs: [], flags: toFlags({ store: { url } }), problems: [] },
  env: {},
  cwd: tmpdir(),
})

test('reads run-time settings with their source, also while a server is running', async (t) => {
  const url = `sqlite:${join(mkdtempSync(join(tmpdir(), 'cardea-')), 'cardea.db')}`
  const { document } = await startServer(t, { store: { url } })
  await send(document, {
    method: 'PUT',
    path: '/_node/_local/_config/chttpd_auth/timeout',
    headers: ADMIN,
    body: '"900"',
  })
  const { settings } = await loadStoredConfiguration(inputOf(url))
  assert.deepEqual(settings.find('chttpd_auth', 'timeout'), { text: '900', source: { kind: 'run time' } })
})

test('does not create a store', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'cardea-')), 'cardea.db')
  const { problems, warnings } = await loadStoredConfiguration(inputOf(`sqlite:${file}`))
  assert.deepEqual([problems, warnings], [[], []])
  assert.ok(!existsSync(file))
})

test('reads a store of an older version and does not migrate it', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'cardea-')), 'cardea.db')
  copyFileSync(join(import.meta.dirname, '../fixtures/store/0.1.0/store.db'), file)
  const { settings, warnings } = await loadStoredConfiguration(inputOf(`sqlite:${file}`))
  assert.deepEqual(warnings, [])
  assert.equal(settings.find('chttpd_auth', 'timeout')?.source.kind, 'run time')
  const database = new DatabaseSync(file)
  assert.equal(database.prepare('SELECT max(number) AS number FROM cardea_migrations').get()?.['number'], 1)
  database.close()
})

test('warns about a store that cannot be read', async () => {
  const { warnings } = await loadStoredConfiguration(inputOf('postgres://ada@127.0.0.1:1/none'))
  assert.match(warnings.join(), /could not be read/)
})
