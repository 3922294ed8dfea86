import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { build } from 'vite'
import { NEEDED, OLDER } from '../support/older-node.ts'
import { FREE_PORTS, get, ROOT, run, signsIn, start, stop } from '../support/process.ts'
import { type Consumer, createConsumer } from './consumer.ts'
import { tryExample } from './examples.ts'

const runFile = promisify(execFile)
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')

/** What lies in one folder with one ending, both left off. */
const namesOf = (paths: readonly string[], folder: string, ending: string): string[] =>
  paths
    .filter((path) => path.startsWith(`${folder}/`) && path.endsWith(ending))
    .map((path) => path.slice(folder.length + 1, -ending.length))
    .sort()

/** In MB, of all files below a folder. */
const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, { parentPath, name }) => bytes + statSync(join(parentPath, name)).size, 0) / 1e6

/** In MB: what the optional packages bring, with all they need, that is not installed without them. */
function sizeOfTracing(folder: string): number {
  const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const needed = new Set<string>(Object.keys(peerDependencies))
  for (const name of needed) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
    for (const other of Object.keys(dependencies)) needed.add(other)
  }
  const added = [...needed].filter((name) => !existsSync(join(folder, 'node_modules', name)))
  return added.reduce((total, name) => total + sizeOf(join(ROOT, 'node_modules', name)), 0)
}

/** Programs that use the package as a library. One process runs all: loading Cardea takes most of the time of each. */
const PROGRAMS = {
  library: `
    import { createCardea, createTestCardea, TEST_ADMINISTRATOR } from 'cardea'
    import { createClient } from 'cardea/client'
    import { createServer } from 'node:http'
    const cardea = await createTestCardea()
    const { document, multiModel } = await cardea.listen()
    const statuses = [(await fetch(document[0] + '/_up')).status, (await fetch(multiModel[0] + '/_api/version')).status]
    const session = await createClient({ url: document[0] }).session()
    await cardea.close()
    const none = await createCardea({ options: { store: { url: 'sqlite::memory:' } } }).catch(({ name }) => name)
    console.log(JSON.stringify({ statuses, session, none, name: TEST_ADMINISTRATOR.name }))`,
  traces: `
    import { createTestCardea } from 'cardea'
    await createTestCardea({ options: { tracing: { endpoint: 'http://127.0.0.1:1' } } }).catch(({ name, message }) =>
      console.log(name, message))`,
  users: `
    import { CardeaError, createTestCardea } from 'cardea'
    const { users, sessions, close } = await createTestCardea()
    const said = []
    said.push(await users.create({ name: 'ada', password: 'engine' }))
    said.push(await users.find('ada'), await users.list(), await users.update('ada', { roles: ['member'] }))
    await users.setPassword('ada', 'other')
    const user = await users.verifyPassword('ada', 'other')
    const session = await sessions.create(user)
    said.push(user, (await sessions.list('ada')).sessions.length, await sessions.revoke(session.id))
    await users.disable('ada')
    await users.remove('ada')
    said.push(await users.remove('ada').catch((error) => error instanceof CardeaError && error.code))
    await close()
    console.log(JSON.stringify(said))`,
  adapters: `
    import * as express from 'cardea/express'
    import * as fastify from 'cardea/fastify'
    console.log(JSON.stringify([Object.keys(express).sort(), Object.keys(fastify).sort()]))`,
  rooms: `await import('cardea/dist/store/open.js').catch(({ code }) => console.log(code))`,
}

/** What each program printed. */
async function runPrograms(folder: string): Promise<(name: keyof typeof PROGRAMS) => string> {
  for (const [name, program] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${name}.mjs`), program)
  const lines = Object.keys(PROGRAMS).map((name) => `console.log('# ${name}')\nawait import('./${name}.mjs')\n`)
  writeFileSync(join(folder, 'all.mjs'), lines.join(''))
  const { stdout } = await runFile(process.execPath, ['all.mjs'], { cwd: folder })
  const parts = new Map(
    stdout.split(/^# /m).map((part) => [part.split('\n', 1)[0], part.slice(part.indexOf('\n') + 1)]),
  )
  return (name) => parts.get(name) ?? assert.fail(stdout)
}

describe('the package', () => {
  let consumer: Consumer
  let paths: readonly string[] = []
  let printed: Awaited<ReturnType<typeof runPrograms>>
  const inside = (path: string) => join(consumer.folder, 'node_modules', 'cardea', path)
  const read = (path: string) => readFileSync(inside(path), 'utf8')

  before(async () => {
    consumer = await createConsumer()
    paths = consumer.files.map(({ path }) => path)
    printed = await runPrograms(consumer.folder)
  })
  after(() => consumer?.remove())

  it('holds every source compiled and declared, and nothing else of that kind', () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true }).map((path) => `src/${path}`)
    const client = readdirSync(join(ROOT, 'client', 'src')).map((path) => `src/client/${path}`)
    const names = namesOf([...sources, ...client], 'src', '.ts')
    const compiled = paths.filter((path) => !path.startsWith('dist/console/'))
    // the client is one file
    const isOne = (name: string) => !name.startsWith('client/') || name === 'client/index'
    assert.deepEqual(namesOf(compiled, 'dist', '.js'), names.filter(isOne))
    assert.deepEqual(namesOf(paths, 'dist', '.d.ts'), names)
  })

  it('holds no source, no test and no tool', () => {
    const strangers = paths.filter(
      (path) => !/^(bin|deploy|dist|docs|etc|examples)\/|^[A-Z]+(\.md)?$|^package\.json$/.test(path),
    )
    assert.deepEqual(strangers, [])
    assert.deepEqual(
      paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts')),
      [],
    )
    assert.deepEqual(
      paths.filter((path) => /test|\bspec\b|\.map$|\.tgz$/.test(path)),
      ['dist/client/index.js.map'],
    )
  })

  it('is released with an SBOM of its dependencies, accepted licences, and checksums', async () => {
    const out = join(dirname(consumer.tarball), 'release')
    const args = [join(ROOT, 'scripts', 'release.ts'), '--out', out, '--package', consumer.tarball]
    const { stdout } = await runFile(process.execPath, args, { cwd: ROOT, env: consumer.env })
    assert.match(stdout, /^licences +[\w-]/m)
    const { dependencies } = JSON.parse(read('package.json'))
    const [sbom = ''] = readdirSync(out).filter((name) => name.endsWith('.cdx.json'))
    const { components } = JSON.parse(readFileSync(join(out, sbom), 'utf8'))
    const listed = components.map(({ name }: Record<string, string>) => name)
    for (const name of Object.keys(dependencies)) assert.ok(listed.includes(name), name)
    assert.ok(!listed.includes('typescript'))
    assert.equal(readdirSync(out).length, 3)
    await runFile('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out })
  })

  it('holds what a person looks for', () => {
    for (const path of [
      'LICENSE',
      'README.md',
      'bin/cardea',
      'etc/default.ini',
      'docs/reference/options.md',
      'dist/index.js',
      'dist/console/index.html',
    ]) {
      assert.ok(paths.includes(path), path)
    }
    accessSync(inside('bin/cardea'), constants.X_OK)
  })

  it('imports only what it brings or asks for', () => {
    const { dependencies: brought, peerDependencies: asked } = JSON.parse(read('package.json'))
    const dependencies = { ...brought, ...asked }
    const known = new Set(paths)
    for (const path of paths.filter((name) => /^dist\/.*\.js$/.test(name))) {
      for (const [, from = ''] of read(path).matchAll(/(?:\bfrom |\bimport\(|^import )'([^']+)'/gm)) {
        if (from.startsWith('node:')) continue
        const isThere = from.startsWith('.')
          ? known.has(normalize(join(dirname(path), from)))
          : Object.hasOwn(dependencies, from.split('/', from.startsWith('@') ? 2 : 1).join('/'))
        assert.ok(isThere, `${path} imports ${from}`)
      }
    }
  })

  it('is smaller without OpenTelemetry, by as much as the changelog says', (t) => {
    const [own, tracing] = [sizeOf(join(consumer.folder, 'node_modules')), sizeOfTracing(consumer.folder)]
    t.diagnostic(`installed: ${own.toFixed(1)} MB; with OpenTelemetry ${(own + tracing).toFixed(1)} MB`)
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
    const [, stated] = /The package without them is (\d+) MB\s+smaller/.exec(changelog) ?? []
    assert.equal(Number(stated), Math.round(tracing))
  })

  it('runs by npx', async () => {
    const { stdout } = await runFile('npx', ['--no-install', 'cardea', '--version'], {
      cwd: consumer.folder,
      env: consumer.env,
    })
    assert.equal(stdout, `Cardea ${JSON.parse(read('package.json')).version}\n`)
  })

  it('makes a folder and serves both doors', async (t) => {
    const options = { command: [join('node_modules', '.bin', 'cardea')], cwd: consumer.folder, env: consumer.env }
    const made = await run(t, ['init', 'data'], options)
    assert.equal(made.code, 0, made.stderr)
    const password = /password {2}(\S+)/.exec(made.stdout)?.[1] ?? ''
    const cardea = start(t, ['serve', '--config', 'data', ...FREE_PORTS], options)
    const { document, multiModel } = await cardea.doors()
    assert.equal((await get(`${document}/_up`)).status, 200)
    assert.ok(await signsIn(document, ['admin', password]))
    assert.equal((await get(`${multiModel}/_api/version`, ['admin', password])).status, 200)
    const page = await (await fetch(`${document}/_cardea/`)).text()
    const [, script = ''] = /src="(\/_cardea\/assets\/[^"]+\.js)"/.exec(page) ?? []
    assert.equal((await fetch(`${document}${script}`)).status, 200, 'the console is built into the package')
    await stop(cardea)
  })

  it(`says on Node ${OLDER.version} which one it needs`, async (t) => {
    const options = { command: [...OLDER.command, inside('bin/cardea')], cwd: consumer.folder }
    const ended = await run(t, ['--version'], options)
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, new RegExp(`^Cardea needs Node ${NEEDED} or later; this is ${OLDER.version}`))
  })

  for (const entry of ['cardea', 'cardea/express', 'cardea/fastify', 'cardea/web']) {
    it(`says on Node ${OLDER.version} which one it needs when ${entry} is imported`, async (t) => {
      const program = `import(${JSON.stringify(entry)}).catch(({ message }) => console.log(message))`
      const options = { command: [...OLDER.command, '--input-type=module', '--eval'], cwd: consumer.folder }
      const { stdout } = await run(t, [program], options)
      assert.equal(stdout, `Cardea needs Node ${NEEDED} or later; this is ${OLDER.version}.\n`)
    })
  }

  it('is a library', () => {
    const stdout = printed('library')
    assert.deepEqual(JSON.parse(stdout), { statuses: [200, 401], session: null, none: 'StartError', name: 'admin' })
  })

  it('says what to install for traces', () => {
    const stdout = printed('traces')
    assert.match(
      stdout,
      /^StartError tracing\.endpoint: OpenTelemetry is not installed\. Run npm install @opentelemetry\/api /,
    )
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(read('package.json'))
    for (const name of Object.keys(peerDependencies))
      assert.ok(stdout.includes(name) && peerDependenciesMeta[name].optional, name)
  })

  it('starts in a bundle', async () => {
    const entry = join(consumer.folder, 'bundled.mjs')
    writeFileSync(
      entry,
      `import { createTestCardea } from 'cardea'
      const cardea = await createTestCardea()
      const { document } = await cardea.listen()
      await cardea.users.create({ name: 'ada', password: 'pw' })
      const { status } = await fetch(document[0] + '/_up')
      console.log(status, (await cardea.users.checkPassword('ada', 'pw')).status)
      await cardea.close()`,
    )
    const outDir = join(dirname(consumer.tarball), 'bundle', 'out')
    await build({
      configFile: false,
      logLevel: 'silent',
      root: consumer.folder,
      ssr: { noExternal: true },
      build: { ssr: entry, outDir, emptyOutDir: true, rollupOptions: { output: { entryFileNames: 'bundled.mjs' } } },
    })
    const { stdout } = await runFile(process.execPath, [join(outDir, 'bundled.mjs')], { cwd: outDir })
    assert.equal(stdout, '200 verified\n')
  })

  describe('in a bundle for browsers', () => {
    const bundle = async (source: string) => {
      const entry = join(consumer.folder, 'page.js')
      writeFileSync(entry, source)
      const modules: string[] = []
      const list = { name: 'list', moduleParsed: ({ id }: { id: string }) => void modules.push(id) }
      const options = { write: false, lib: { entry, formats: ['es' as const] } }
      await build({ configFile: false, logLevel: 'silent', root: consumer.folder, build: options, plugins: [list] })
      return modules.filter((id) => id !== entry).map((id) => relative(realpathSync(inside('')), realpathSync(id)))
    }

    it('has nothing but the client', async () => {
      const modules = await bundle(`import { createClient } from 'cardea/client'\ncreateClient({ url: '/' })`)
      assert.deepEqual(modules, ['dist/client/index.js'])
    })

    it('fails with a sentence for Cardea itself', async () => {
      const sentence = /Cardea runs in Node, not in a browser: import cardea\/client there\./
      await assert.rejects(bundle(`import { createCardea } from 'cardea'\ncreateCardea()`), sentence)
    })
  })

  it('manages users and sessions', () => {
    const stdout = printed('users')
    const id = '4d82f60b-dd0a-8498-a22b-6ac5593e37a6'
    const ada = { id, name: 'ada', isActive: true, roles: [], grants: {}, members: {} }
    const verified = { id, name: 'ada', roles: ['member'], isAdmin: false }
    const updated = { ...ada, roles: ['member'] }
    assert.deepEqual(JSON.parse(stdout), [ada, ada, { users: [ada] }, updated, verified, 1, true, 'not_found'])
  })

  for (const example of ['express', 'fastify', 'hono', 'fetch'] as const) {
    it(`runs the example for ${example}`, (t) => tryExample(t, consumer.folder, example))
  }

  it('is mounted into Express and Fastify', () => {
    const stdout = printed('adapters')
    assert.deepEqual(JSON.parse(stdout), [
      ['account', 'authenticate', 'requireRole', 'requireUser'],
      ['registerAccount', 'registerCardea', 'requireRole', 'requireUser'],
    ])
  })

  it('keeps its rooms to itself', () => {
    const stdout = printed('rooms')
    assert.equal(stdout, 'ERR_PACKAGE_PATH_NOT_EXPORTED\n')
  })

  it('is typed: a program that uses it well compiles, and one that does not does not', async () => {
    const { folder } = consumer
    const use = readFileSync(join(ROOT, 'test', 'types', 'library.ts'), 'utf8').replace('../../src/index.ts', 'cardea')
    writeFileSync(join(folder, 'use.ts'), use)
    writeFileSync(join(folder, 'wrong.ts'), use.replaceAll('@ts-expect-error', 'wrong:'))
    const compilerOptions = { module: 'nodenext', strict: true, noEmit: true, types: ['node'], skipLibCheck: false }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts', 'wrong.ts'] }))
    const lines = use.split('\n').flatMap((line, index) => (line.includes('@ts-expect-error') ? [index + 2] : []))
    const compiling = runFile(TSC, ['-p', folder], { env: consumer.env })
    await assert.rejects(compiling, ({ stdout }: { stdout: string }) => {
      const places = new Set([...stdout.matchAll(/^(\S+\.ts)\((\d+),/gm)].map(([, file, line]) => `${file}:${line}`))
      const expected = lines.map((line) => `wrong.ts:${line}`)
      assert.deepEqual(
        [...places].map((place) => place.slice(place.lastIndexOf('/') + 1)),
        expected,
        stdout,
      )
      return true
    })
  })
})
