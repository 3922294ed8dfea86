// The list of modules, and what happens to the data of a module that a build does not have.
import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { CORE_OPTIONS } from '../../src/config/option-table.ts'
import { createCoreOperations } from '../../src/dialects/admin-api/operations.ts'
import { toPasskeyEntry } from '../../src/directory/administrators.ts'
import type { Passkey } from '../../src/directory/users/user.ts'
import { createTestCardea } from '../../src/index.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { beginCopy } from '../../src/modules/couchdb-users/state.ts'
import { putLink } from '../../src/modules/password-links/links.ts'
import { putRecord } from '../../src/modules/user-databases/wishes.ts'
import { KERNEL_ROWS, MODULES, OPERATIONS, SECURITY_EVENTS } from '../../src/modules.ts'
import { CORE_EVENTS } from '../../src/observe/security-event-table.ts'
import { type OpenStore, openStore } from '../../src/store/create-store.ts'
import { newUser, STORE_SETTINGS } from '../contract/store-values.ts'
import { makeFolder } from '../support/scope.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = new URL('../../src/modules/', import.meta.url)

test('every folder of src/modules is in the list, under its name', () => {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  assert.deepEqual(MODULES.map(({ name }) => name).toSorted(), folders.map(({ name }) => name).toSorted())
})

/** The paths that the comment at the top of the manifest names. */
const listNamedPaths = (name: string): readonly string[] => {
  const [comment = ''] = readFileSync(new URL(`${name}/index.ts`, FOLDER), 'utf8').split('*/')
  return [...comment.matchAll(/`((?:test|docs|console)\/[^`]+)`/g)].map(([, path = '']) => path)
}

for (const { name } of MODULES)
  test(`the manifest of ${name} names its tests, its page and its part of the console, which exist`, () => {
    const paths = listNamedPaths(name)
    for (const path of paths) assert.ok(globSync(path, { cwd: ROOT }).length > 0, path)
    for (const place of ['test/', 'docs/'])
      assert.ok(
        paths.some((path) => path.startsWith(place)),
        place,
      )
    for (const folder of [`test/modules/${name}/`, `console/src/modules/${name}/`])
      assert.ok(paths.includes(folder) || !existsSync(join(ROOT, folder)), folder)
  })

test('folders of tests and of the console have the names of modules', () => {
  const names = MODULES.map((module) => module.name)
  for (const parent of ['test/modules', 'console/src/modules'])
    for (const entry of readdirSync(join(ROOT, parent), { withFileTypes: true }))
      if (entry.isDirectory()) assert.ok(names.includes(entry.name), `${parent}/${entry.name}`)
})

test('CONTRIBUTING.md says what each member of a manifest is for', () => {
  const source = readFileSync(new URL('module.ts', FOLDER), 'utf8')
  const [, manifest = ''] = /^export interface Module {\n([\s\S]*?)^}/m.exec(source) ?? []
  const members = [...manifest.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name)
  const [, table = ''] =
    /^\| the core's table \|.*\n([\s\S]*?)\n\n/m.exec(readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')) ?? []
  const named = [...table.matchAll(/(?:\| |; )`([a-z]\w*)(?:\.\w+)?`(?=[,:;])/g)].map(([, name]) => name)
  assert.deepEqual(named.toSorted(), members.filter((name) => name !== 'needs').toSorted())
})

test('at most one module brings what the core asks one module for', () => {
  for (const member of [
    'accountRules',
    'externalSignIn',
    'findOwnDatabase',
    'passkeys',
    'tracing',
    'userSource',
  ] as const)
    assert.ok(MODULES.filter((module) => module[member]).length <= 1, member)
})

test('a module comes after those that it needs', () => {
  for (const [index, { name, needs = [] }] of MODULES.entries())
    for (const needed of needs) assert.ok(MODULES.slice(0, index).includes(needed), `${name} needs ${needed.name}`)
})

test('no two rows have the same name', () => {
  const tables = [
    [CORE_EVENTS, MODULES.map(({ events }) => events), SECURITY_EVENTS],
    [createCoreOperations(SECURITY_EVENTS), MODULES.map(({ operations }) => operations), OPERATIONS],
  ] as const
  for (const [core, added, whole] of tables) {
    const names = [core, ...added].flatMap((rows) => Object.keys(rows ?? {}))
    assert.deepEqual(names, Object.keys(whole))
  }
})

test('the table of options has the rows of every module, once', () => {
  const rows = MODULES.flatMap(({ options }) => Object.keys(options?.rows ?? {}))
  const core = Object.entries(CORE_OPTIONS).flatMap(([section, keys]) =>
    Object.keys(keys).map((key) => `${section}.${key}`),
  )
  assert.deepEqual(OPTION_TABLE.rows.map(({ name }): string => name).toSorted(), [...core, ...rows].toSorted())
  const named = MODULES.flatMap(({ options }) => Object.keys(options?.named ?? {}))
  assert.deepEqual([...OPTION_TABLE.named.keys()], named)
})

test('every member that a module adds to the library says that an await is missing', async () => {
  const names = MODULES.flatMap(({ library }) => Object.keys(library?.(() => assert.fail()) ?? {}))
  const promise = createTestCardea()
  for (const name of names) assert.throws(() => Reflect.get(promise, name), /returns a promise/, name)
  await (await promise).close()
})

const LINK = { provider: 'keycloak', issuer: 'https://idp.example.com', subject: '1', linkedAt: 1 }

const PASSKEY: Passkey = {
  id: 'i',
  rpId: 'localhost',
  publicKey: 'k',
  label: 'Phone',
  createdAt: 1,
  transports: [],
  isSynced: false,
}

/** What each module with data in the store writes: the first word is the name of the module. */
const DATA: Readonly<Record<string, (store: OpenStore) => Promise<unknown>>> = {
  'password-links': (store) =>
    putLink(
      store.statements,
      { purpose: 'password', name: 'ada', digest: 'd', version: 'v', data: '', expiresAt: 1 },
      0,
    ),
  mail: (store) =>
    store.writeUser({
      expected: 'absent',
      record: { ...newUser('ada'), address: { text: 'ada@example.com', verifiedAt: 1 } },
    }),
  'user-databases': async (store) => {
    await store.writeUser({ expected: 'absent', record: newUser('ada') })
    const record = { name: 'ada', door: 'document', database: 'userdb-616461', state: 'ready', reason: '' } as const
    await putRecord(store.statements, record)
  },
  passkeys: (store) => store.writeUser({ expected: 'absent', record: { ...newUser('ada'), passkeys: [PASSKEY] } }),
  'passkeys of an administrator': (store) =>
    store.setSetting({ ...toPasskeyEntry('root', 'hash', [PASSKEY]), nowSeconds: 0 }),
  'couchdb-users': (store) => beginCopy(store.statements, { phase: 'filling' }),
  providers: (store) => store.writeUser({ expected: 'absent', record: { ...newUser('ada'), links: [LINK] } }),
}

for (const [name, write] of Object.entries(DATA))
  test(`a store with data of ${name} does not open without it, and the message names the module`, async (t) => {
    const [owner] = name.split(' ')
    const url = `sqlite:${join(makeFolder(t), 'cardea.db')}`
    const common = { log: SILENT_LOG, settings: () => STORE_SETTINGS }
    const whole = { ...common, rows: KERNEL_ROWS.store }
    const without = { ...common, rows: KERNEL_ROWS.store.filter(({ module }) => module !== owner) }
    await (await openStore(url, without)).close()
    const store = await openStore(url, whole)
    await write(store)
    await store.close()
    await assert.rejects(openStore(url, without), {
      name: 'IncompatibleStoreError',
      message: `It has data of the module ${owner}, which this build of Cardea does not have`,
    })
    await (await openStore(url, whole)).close()
  })
