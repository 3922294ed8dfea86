/**
 * Cardea without each module in turn, and with the module that CONTRIBUTING.md shows: a copy of the sources whose list of
 * modules is another one. With `npm run test:long -- modules` the copies are also type-checked, and pass the recorded cases.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { promisify } from 'node:util'
import { SILENT_LOG } from '../../src/base/log.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import type { Module } from '../../src/modules/module.ts'
import { MODULES } from '../../src/modules.ts'
import { openStore } from '../../src/store/create-store.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const IS_LONG = process.env['TEST_LONG'] === '1'

const toIdentifier = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** One copy for all tests: compiled sources of its files are found again, because their paths stay. */
const copy = createCopy(createSharedScope())

function createCopy(scope: Scope): string {
  const copy = makeFolder(scope)
  const folders = IS_LONG ? ['src', 'test', 'scripts', 'etc'] : ['src']
  for (const folder of folders) cpSync(join(ROOT, folder), join(copy, folder), { recursive: true })
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.build.json'])
    cpSync(join(ROOT, file), join(copy, file))
  for (const folder of ['node_modules', 'dist']) symlinkSync(join(ROOT, folder), join(copy, folder))
  return copy
}

/** As the checkout has them. */
function resetModules(): void {
  rmSync(join(copy, 'src', 'modules'), { recursive: true })
  for (const path of ['modules', 'modules.ts', 'module-options.ts'])
    cpSync(join(ROOT, 'src', path), join(copy, 'src', path), { recursive: true })
}

beforeEach(resetModules)

function changeList(list: 'modules.ts' | 'module-options.ts', change: (text: string) => string): void {
  const path = join(copy, 'src', list)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

function addToList(list: Parameters<typeof changeList>[0], name: string, file: string): void {
  changeList(list, (text) =>
    `import { ${name} } from './modules/greetings/${file}'\n${text}`.replace(
      'const LIST = [',
      `const LIST = [${name}, `,
    ),
  )
}

/** With it go the modules that need it. */
function listDependents(name: string): readonly string[] {
  const direct = MODULES.filter(({ needs = [] }) => needs.some((needed) => needed.name === name))
  return [...new Set([name, ...direct.flatMap((module) => listDependents(module.name))])]
}

function removeModule(name: string): void {
  rmSync(join(copy, 'src', 'modules', name), { recursive: true })
  const identifier = new RegExp(`(?<=const LIST = \\[[^\\]]*)\\b${toIdentifier(name)}(?:Options)?\\b,?\\s*`)
  for (const list of ['modules.ts', 'module-options.ts'] as const)
    changeList(list, (text) =>
      text.replaceAll(new RegExp(`^.* from '\\./modules/${name}/.*\\n`, 'gm'), '').replace(identifier, ''),
    )
}

/** Starts a server of the copy, asks both doors and the admin API, and prints what they say. */
const PROBE = `
const { createCardea } = await import('./src/index.ts')
const cardea = await createCardea({ options: {
  admins: { ada: 'a long secret' }, chttpd: { port: 0 }, server: { endpoint: 'http://127.0.0.1:0' }, store: { url: 'sqlite::memory:' },
} })
const { document, multiModel } = await cardea.listen()
const headers = { authorization: 'Basic ' + btoa('ada:a long secret'), 'content-type': 'application/json' }
const ask = async (method, path, body) => {
  const reply = await fetch(document[0] + path, { method, headers, body: body && JSON.stringify(body) })
  return { status: reply.status, body: await reply.json() }
}
await cardea.users.create({ name: 'bob', password: 'long enough for it' })
const version = await fetch(multiModel[0] + '/_api/version', { headers })
const { body } = await ask('GET', '/_cardea/api/openapi.json')
const { body: { events } } = await ask('GET', '/_cardea/api/audit/events')
console.log(JSON.stringify({
  document: (await ask('GET', '/_session')).status,
  multiModel: version.status,
  greeting: (await ask('POST', '/_cardea/api/users/bob/greeting', {})).body.greeting,
  operations: Object.values(body.paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId)),
  events: events.map(({ event }) => event),
  members: Object.keys(cardea),
}))
await cardea.close()
`

/** Also prints why a start with each of these options is refused. */
const toRefusalProbe = (options: readonly (readonly [string, string])[], urls: readonly string[]): string =>
  PROBE.replace(
    'members:',
    `stored: await Promise.all(${JSON.stringify(urls)}.map((url) =>
      createCardea({ options: { admins: { ada: 'a long secret' }, store: { url } } })
        .then(() => 'it starts', ({ message }) => message))),
  refusals: await Promise.all(${JSON.stringify(options)}.map(([section, key]) =>
      createCardea({ options: { store: { url: 'sqlite::memory:' }, [section]: { [key]: 'x' } } })
        .then(() => 'it starts', ({ message }) => message))),
  members:`,
  )

/** Stores of the whole build, each with one option that was set at run time. */
const storeEach = (scope: Scope, options: readonly (readonly [string, string])[]): Promise<readonly string[]> =>
  Promise.all(
    options.map(async ([section, key]) => {
      const url = `sqlite:${join(makeFolder(scope), 'cardea.db')}`
      const store = await openStore(url, { log: SILENT_LOG })
      await store.setSetting({ section, key, text: 'x', nowSeconds: 0 })
      await store.close()
      return url
    }),
  )

/** One option of each named section that the module brings, and all others. */
function listOptions({ options }: Module): readonly (readonly [section: string, key: string])[] {
  const named = Object.entries(options?.named ?? {}).map(([kind, { rows }]) => [`${kind}:any`, Object.keys(rows)[0]])
  const rows = Object.keys(options?.rows ?? {}).map((name) => name.split(/\.(.*)/))
  return [...named, ...rows].map(([section = '', key = '']) => [section, key])
}

async function probe(program = PROBE) {
  writeFileSync(join(copy, 'probe.mjs'), program)
  const { stdout } = await run(process.execPath, ['probe.mjs'], { cwd: copy })
  return JSON.parse(stdout)
}

async function checkWhole(): Promise<void> {
  const tsc = join(copy, 'node_modules', 'typescript', 'bin', 'tsc')
  await run(process.execPath, [tsc, '--noEmit', '-p', 'tsconfig.build.json'], { cwd: copy })
  const cases = ['document', 'multi-model'].map((door) => `test/conformance/${door}.test.ts`)
  // a runner within a runner would run nothing
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const { stdout } = await run(process.execPath, ['--test', ...cases], { cwd: copy, env, maxBuffer: 2 ** 30 })
  assert.match(stdout, /^ℹ pass \d{3,}$/m)
}

/** Prints which packages a server without options of modules has loaded. */
const PACKAGES_PROBE = `
const { registerHooks } = await import('node:module')
const loaded = new Set()
registerHooks({ load(url, context, next) {
  const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
  if (name) loaded.add(name)
  return next(url, context)
} })
${PROBE.replace(/console\.log[\s\S]*?\n}\)\)/, 'console.log(JSON.stringify([...loaded]))')}`

test('packages that modules use are not loaded before that', async () => {
  assert.deepEqual(await probe(PACKAGES_PROBE), ['lru-cache'])
})

test('the library that sends messages is not loaded before the first one', async () => {
  const options = `store: { url: 'sqlite::memory:' }, mail: { url: 'smtp://127.0.0.1:1', from: 'a@example.com' },
    console: { 'public-url': 'https://db.example.com' },`
  const started = PACKAGES_PROBE.replace("store: { url: 'sqlite::memory:' },", options)
  assert.deepEqual(await probe(started), ['lru-cache'])
  const invitation = "await ask('POST', '/_cardea/api/invitations', { address: 'a@example.com' })"
  const tried = "while (!loaded.has('nodemailer')) await new Promise((resolve) => setImmediate(resolve))"
  const sending = await probe(started.replace('console.log(', () => `${invitation}\n${tried}\nconsole.log(`))
  assert.deepEqual(sending, ['lru-cache', 'nodemailer'])
})

/** Asks for passkeys as every sign-in page does, and with what no passkey has signed, while no account has one. */
const PASSKEY_REQUESTS = `
const { body: { options } } = await ask('POST', '/_cardea/account/passkey-options', {})
const clientDataJSON = Buffer.from(JSON.stringify({ challenge: options.challenge })).toString('base64url')
for (const passkey of [{}, { id: 'AAAA', response: { clientDataJSON } }])
  if ((await ask('POST', '/_cardea/account/sign-in', { passkey })).status !== 401) throw new Error('accepted')
if ((await ask('GET', '/_cardea/api/users/bob/passkeys')).status !== 200) throw new Error('no list')
console.log(`

test('the library of passkeys is not loaded without a passkey', async () => {
  const program = PACKAGES_PROBE.replace('console.log(', () => PASSKEY_REQUESTS)
  assert.deepEqual(await probe(program), ['lru-cache'])
})

for (const { name } of MODULES)
  test(`Cardea starts without the module ${name}, and has none of its rows`, async (t) => {
    const removed = listDependents(name)
    for (const each of removed) removeModule(each)
    const rows = MODULES.filter((module) => removed.includes(module.name))
    const options = rows.flatMap(listOptions)
    const settable = options.filter(([section, key]) => OPTION_TABLE.find(section, key)?.option.fixed === undefined)
    const atRunTime = settable.filter(([section]) => !section.includes(':'))
    const found = await probe(toRefusalProbe(options, await storeEach(t, atRunTime)))
    assert.deepEqual([found.document, found.multiModel], [200, 200])
    for (const row of rows.flatMap(({ operations = {} }) => Object.keys(operations)))
      assert.ok(!found.operations.includes(row), row)
    for (const row of rows.flatMap(({ events = {} }) => Object.keys(events)))
      assert.ok(!found.events.includes(row), row)
    for (const [at, [section, key]] of options.entries())
      assert.match(found.refusals[at], new RegExp(`unknown option.* \\(options\\.${section}\\.${key}\\)`))
    for (const [at, [section, key]] of atRunTime.entries()) {
      assert.match(
        found.stored[at],
        new RegExp(`\\[${section}\\] ${key} is an option of the module .*, which this build`),
      )
      assert.match(found.stored[at], new RegExp(`cardea config unset ${section}\\.${key}$`))
    }
    if (IS_LONG) await checkWhole()
  })

/** Prints how the document door answers a user with a password, and with a read-only access token. */
const LIMITS_PROBE = `
const { createCardea } = await import('./src/index.ts')
const cardea = await createCardea({ options: {
  admins: { ada: 'a long secret' }, chttpd: { port: 0 }, server: { endpoint: 'http://127.0.0.1:0' }, store: { url: 'sqlite::memory:' },
} })
const { document } = await cardea.listen()
const password = 'long enough for it'
await cardea.users.create({ name: 'bob', password })
const token = { name: 'reader', expiresAt: new Date(Date.now() + 3600_000), databases: ['db'], access: 'ro' }
const { token: text } = await cardea.accessTokens.create('bob', token)
const ask = async (path, secret) =>
  (await fetch(document[0] + path, { headers: { authorization: 'Basic ' + btoa('bob:' + secret) } })).status
console.log(JSON.stringify([await ask('/_session', password), await ask('/db/doc', password), await ask('/db/doc', text)]))
await cardea.close()
`

test('without the module of grants, the document door refuses read-only access tokens', async () => {
  for (const each of listDependents('document-grants').toReversed()) removeModule(each)
  assert.deepEqual(await probe(LIMITS_PROBE), [200, 404, 403])
})

test('the module that CONTRIBUTING.md shows works', async () => {
  const guide = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [index, options] = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, source = '']) => source)
  const folder = join(copy, 'src', 'modules', 'greetings')
  mkdirSync(folder)
  writeFileSync(join(folder, 'index.ts'), index ?? assert.fail('there is no manifest'))
  writeFileSync(join(folder, 'options.ts'), options ?? assert.fail('there are no options'))
  addToList('modules.ts', 'greetings', 'index.ts')
  addToList('module-options.ts', 'greetingsOptions', 'options.ts')
  const found = await probe(PROBE.replace('} })', "greetings: { word: 'Hello' } } })"))
  assert.equal(found.greeting, 'Hello, bob.')
  assert.ok(found.events.includes('user.greeted') && found.operations.includes('user.greet'))
  if (IS_LONG) await checkWhole()
})
