// Builds deploy/Dockerfile with buildah and saves it, as `npm run release` does, and runs the image with podman as its
// guide says: read-only, without capabilities, as another user.
//   npm run test:long -- image
//
// Images are kept in a place of their own, not among yours. If the base image is not there and mmdebstrap is installed,
// one is made of Debian's packages, this Node and this npm; otherwise it is pulled.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { BASE, saveImage } from '../../scripts/release-image.ts'
import { findFreePort } from '../store/postgres-server.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const PLACE = '/var/tmp/cardea-image'
const IMAGE = `localhost/cardea:${version}`
const CA_FILE = process.env['NODE_EXTRA_CA_CERTS']
/** Another one than that of the image. */
const USER = 20_002

const HYBRID = '/sys/fs/cgroup/unified'

const run = (program: string, args: readonly string[], options: object = {}): string =>
  execFileSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
    ...options,
  })

const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).error === undefined

/** crun refuses to run where both versions of control groups are mounted. They are not used here. */
function hideControlGroups(): void {
  if (process.env['TEST_IMAGE_HIDDEN'] || !existsSync(HYBRID)) return
  const script = `umount ${HYBRID} && exec "$0" "$@"`
  const { status } = spawnSync('unshare', ['--mount', 'sh', '-c', script, process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, TEST_IMAGE_HIDDEN: '1' },
  })
  process.exit(status ?? 1)
}

/** Both programs, and the release, keep their images there. */
function useOwnStorage(): void {
  mkdirSync(PLACE, { recursive: true })
  const file = join(PLACE, 'storage.conf')
  const folders = `graphroot = "${join(PLACE, 'storage')}"\nrunroot = "${join(PLACE, 'run')}"\n`
  // STORAGE_DRIVER names another
  writeFileSync(file, `[storage]\ndriver = "overlay"\n${folders}`)
  Object.assign(process.env, { CONTAINERS_STORAGE_CONF: file, BUILDAH_ISOLATION: 'chroot' })
}

const buildah = (...args: readonly string[]) => run('buildah', args)
const podman = (...args: readonly string[]) => run('podman', ['--log-level', 'fatal', ...args])
const tryPodman = (...args: readonly string[]) =>
  spawnSync('podman', ['--log-level', 'fatal', ...args], { encoding: 'utf8' })

/** Debian without its manuals, with this Node, its npm, and the certificates that this machine adds to those of Node. */
function makeBase(): void {
  const isThere = spawnSync('buildah', ['inspect', '--type', 'image', BASE]).status === 0
  if (isThere || !isInstalled('mmdebstrap')) return
  const files = join(PLACE, 'base')
  rmSync(files, { recursive: true, force: true })
  mkdirSync(join(files, 'local', 'lib', 'node_modules'), { recursive: true })
  mkdirSync(join(files, 'local', 'bin'))
  cpSync(realpathSync(process.execPath), join(files, 'local', 'bin', 'node'))
  const npm = dirname(dirname(process.env['npm_execpath'] ?? realpathSync(run('which', ['npm']).trim())))
  cpSync(npm, join(files, 'local', 'lib', 'node_modules', 'npm'), { recursive: true })
  if (CA_FILE) cpSync(CA_FILE, join(files, 'ca.pem'))
  const [, suite = ''] = /-([a-z]+)-slim$/.exec(BASE) ?? []
  const without = ['man', 'doc', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`)
  const packages = '--include=ca-certificates,libatomic1,libstdc++6'
  console.log(`${BASE} is made of Debian's packages, which takes minutes`)
  run('mmdebstrap', ['--quiet', '--variant=minbase', packages, ...without, suite, join(files, 'debian.tar')])
  const container = buildah('from', 'scratch').trim()
  buildah('add', '--quiet', container, join(files, 'debian.tar'), '/')
  buildah('add', '--quiet', container, join(files, 'local'), '/usr/local')
  for (const name of ['npm', 'npx'])
    buildah('run', container, 'ln', '-s', `../lib/node_modules/npm/bin/${name}-cli.js`, `/usr/local/bin/${name}`)
  if (CA_FILE) {
    buildah('add', '--quiet', container, join(files, 'ca.pem'), '/etc/ssl/added.pem')
    buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/ssl/added.pem', container)
  }
  buildah('commit', '--quiet', '--rm', container, `docker.io/library/${BASE}`)
}

/** What npm has downloaded here need not be downloaded again. */
function listBuildOptions(): readonly string[] {
  const cache = join(userInfo().homedir, '.npm')
  return ['--layers', ...(existsSync(cache) ? ['--volume', `${cache}:/root/.npm`] : [])]
}

const sizeOf = (image: string): number => Number(podman('image', 'inspect', image, '--format', '{{.Size}}'))

for (const program of ['buildah', 'podman'])
  if (!isInstalled(program)) {
    console.error(`${program} is not installed: apt-get install buildah podman crun mmdebstrap`)
    process.exit(1)
  }
hideControlGroups()
useOwnStorage()
const startedAt = performance.now()
makeBase()
const [saved = ''] = await saveImage(version, PLACE, listBuildOptions())
const [whole, base] = [sizeOf(IMAGE), sizeOf(BASE)].map((bytes) => Math.round(bytes / 1e6))
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`image     ${whole} MB, ${whole - base} MB of them Cardea; built in ${seconds} s`)

const folder = mkdtempSync(join(PLACE, 'data-'))
chownSync(folder, USER, USER)
const ports = { document: await findFreePort(), multiModel: await findFreePort() }
const url = `http://127.0.0.1:${ports.document}`
const NAME = `cardea-${process.pid}`

/** Limits on resources: podman raises them, which needs a capability that a container may lack itself. */
const SANDBOX = ['--cgroups=disabled', '--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096']
/** As the guides and files in deploy/ run it. */
const HARDENED = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges', `--user=${USER}:${USER}`]
const OWN_PORTS = [
  ...[...SANDBOX, ...HARDENED, '--tmpfs=/tmp', `--volume=${folder}:/var/lib/cardea`],
  // its timer would need systemd; the command itself is run below
  '--health-interval=disable',
]
const OPTIONS = [
  ...[...OWN_PORTS, '--network=host'],
  ...['--env=CARDEA_CHTTPD__BIND_ADDRESS=127.0.0.1', `--env=CARDEA_CHTTPD__PORT=${ports.document}`],
  `--env=CARDEA_SERVER__ENDPOINT=tcp://127.0.0.1:${ports.multiModel}`,
]

async function waitUntil(isDone: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await isDone()); await pause(100))
    assert.ok(Date.now() < deadline, `it did not happen within a minute: ${podman('logs', NAME)}`)
}

const waitForDoor = () =>
  waitUntil(() =>
    fetch(`${url}/_up`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )

const runIn = (...args: readonly string[]) => tryPodman('exec', NAME, ...args)

describe('the image', () => {
  after(() => {
    tryPodman('rm', '--force', NAME)
    rmSync(folder, { recursive: true, force: true })
  })

  it('keeps the health check, the user and the command', () => {
    const [inspected] = JSON.parse(podman('image', 'inspect', IMAGE))
    assert.deepEqual(inspected.Healthcheck?.Test, ['CMD', 'cardea', 'status'])
    assert.equal(inspected.Config.User, '10001:10001')
    assert.deepEqual([inspected.Config.Entrypoint, inspected.Config.Cmd], [['cardea'], ['serve']])
  })

  it('init creates a configuration, and serve opens both doors', async () => {
    const made = podman('run', '--rm', ...OPTIONS, IMAGE, 'init', '/var/lib/cardea')
    const [, password = ''] = /password {2}(\S+)/.exec(made) ?? []
    podman('run', '--detach', '--name', NAME, ...OPTIONS, IMAGE)
    await waitForDoor()
    const headers = { Authorization: `Basic ${btoa(`admin:${password}`)}` }
    assert.equal((await fetch(`${url}/_users/_all_docs`, { headers })).status, 200)
    assert.equal((await fetch(`http://127.0.0.1:${ports.multiModel}/_api/version`, { headers })).status, 200)
    const [, script = ''] =
      /src="(\/_cardea\/assets\/[^"]+\.js)"/.exec(await (await fetch(`${url}/_cardea/`)).text()) ?? []
    assert.equal((await fetch(`${url}${script}`)).status, 200)
  })

  it('runs without capabilities, as the user it is given, on a root that it cannot change', () => {
    const status = runIn('cat', '/proc/1/status').stdout
    for (const set of ['CapEff', 'CapPrm', 'CapBnd', 'CapAmb']) assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'))
    assert.match(status, new RegExp(`^Uid:\\s+${USER}\\s`, 'm'))
    assert.match(status, /^NoNewPrivs:\s+1$/m)
    assert.match(runIn('touch', '/opt/cardea/x').stderr, /Read-only file system/)
  })

  it('its health check succeeds, and so does cardea check', () => {
    assert.equal(tryPodman('healthcheck', 'run', NAME).status, 0)
    const { status, stdout, stderr } = runIn('cardea', 'check')
    assert.equal(status, 0, stdout + stderr)
  })

  it('holds nothing but what runs', () => {
    const { stdout } = runIn('find', '/opt/cardea', '-type', 'f', '-not', '-path', '*/.cache/*', '-printf', '%P\n')
    const files = stdout.trim().split('\n')
    const first = new Set(files.map((path) => path.split('/', 1)[0]))
    assert.deepEqual([...first].sort(), ['LICENSE', 'bin', 'dist', 'etc', 'node_modules', 'package.json'])
    const [own, others] = [
      files.filter((path) => path.startsWith('dist/')),
      files.filter((path) => /\.([cm]?ts|map)$|\/(tests?|benchmarks)\//.test(path)),
    ]
    assert.deepEqual(others, [])
    assert.deepEqual(
      own.filter((path) => !/\.js$|^dist\/console\//.test(path)),
      [],
    )
    for (const name of ['typescript', '@biomejs', 'vite', 'playwright-core', 'node', '@types'])
      assert.ok(!files.some((path) => path.startsWith(`node_modules/${name}/`)), name)
  })

  it('ends with 0 when it is stopped', () => {
    podman('stop', '--time', '20', NAME)
    assert.equal(podman('inspect', NAME, '--format', '{{.State.ExitCode}}').trim(), '0')
    podman('rm', NAME)
  })

  const emptyVolume = () => {
    rmSync(folder, { recursive: true })
    mkdirSync(folder)
    chownSync(folder, USER, USER)
  }

  it('starts with one command in an empty volume, and has what traces need', async () => {
    emptyVolume()
    const tracing = '--env=CARDEA_TRACING__ENDPOINT=http://127.0.0.1:9'
    podman('run', '--detach', '--name', NAME, ...OPTIONS, tracing, IMAGE, 'start', '/var/lib/cardea')
    await waitForDoor()
    await waitUntil(() => /password {2}\S+.*\nNext:\n {2}console +http/s.test(tryPodman('logs', NAME).stdout))
    podman('stop', '--time', '20', NAME)
  })

  it('prints addresses that its host can open, at the ports of the image, and adds a user', async () => {
    podman('rm', NAME)
    emptyVolume()
    podman('run', '--detach', '--name', NAME, ...OWN_PORTS, '--network=none', IMAGE, 'start', '/var/lib/cardea')
    await waitUntil(() => /^ {2}add a user/m.test(tryPodman('logs', NAME).stdout))
    const printed = tryPodman('logs', NAME).stdout
    assert.match(printed, /^ {2}document door {5}http:\/\/127\.0\.0\.1:5984 \(on all interfaces\)$/m)
    assert.match(printed, /^ {2}multi-model door {2}http:\/\/127\.0\.0\.1:8529 \(on all interfaces\)$/m)
    assert.match(printed, /^ {2}console {19}http:\/\/localhost:5984\/_cardea\/$/m)
    assert.doesNotMatch(printed, /\[::\]|0\.0\.0\.0/)
    const added = runIn('sh', '-c', "printf 'analytical-engine' | cardea user add ada --password-stdin")
    assert.equal(added.stdout, 'Made ada.\n', added.stderr)
    podman('stop', '--time', '20', NAME)
  })

  it('is in the file of the release', () => {
    // podman of Debian 12 reads no compressed file
    const load = 'gunzip --stdout "$0" | podman --log-level fatal load'
    assert.match(run('sh', ['-c', load, saved]), new RegExp(`^Loaded image.*: ${IMAGE}$`, 'm'))
    rmSync(saved)
  })
})
