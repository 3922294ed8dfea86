/** The package as npm makes it, installed into an empty folder as a stranger would. */
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../support/process.ts'
import { STEP_LIMIT_MS } from '../support/wait.ts'

const runFile = promisify(execFile)

export interface PackedFile {
  readonly path: string
  readonly mode: number
}

export interface Consumer {
  /** Where the package is installed. */
  readonly folder: string
  readonly tarball: string
  readonly files: readonly PackedFile[]
  /** Of a process that finds this Node first. */
  readonly env: Readonly<Record<string, string>>
  remove(): void
}

/** What npm needs to find its cache, and the registry where it must. */
const KEPT = /^(?:HOME|npm_config_(?:cache|registry|userconfig)|(?:https?|no)_proxy|NODE_EXTRA_CA_CERTS)$/i

function createEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name)) as [string, string][]
  const PATH = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
  // with threads of its own tsc takes a quarter more of a processor
  return { ...Object.fromEntries(kept), PATH, npm_config_update_notifier: 'false', GOMAXPROCS: '1' }
}

const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist', 'data'])

export async function createConsumer(): Promise<Consumer> {
  const place = mkdtempSync(join(tmpdir(), 'cardea-package-'))
  const env = createEnvironment()
  const { tarball, files } = await pack(join(place, 'source'), place, env)
  const folder = join(place, 'consumer')
  await install(tarball, folder, env)
  return { folder, tarball, files, env, remove: () => rmSync(place, { recursive: true, force: true }) }
}

async function npm(args: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  return (await runFile('npm', args, { cwd, env, timeout: STEP_LIMIT_MS })).stdout
}

/** Built from a copy, so that the checkout stays unchanged. */
async function pack(source: string, place: string, env: Record<string, string>) {
  cpSync(ROOT, source, { recursive: true, filter: (path) => !LEFT_OUT.has(relative(ROOT, path)) })
  const modules = join(source, 'node_modules')
  symlinkSync(join(ROOT, 'node_modules'), modules)
  leaveTypesUnchecked(join(source, 'tsconfig.build.json'))
  await npm(['run', 'prepack'], source, env)
  // npm reads every package there is before it packs, which takes as long as to pack
  unlinkSync(modules)
  const stdout = await npm(['pack', '--ignore-scripts', '--json', '--pack-destination', place], source, env)
  const [packed] = JSON.parse(stdout)
  const files: readonly PackedFile[] = packed.files
  return { tarball: join(place, packed.filename), files }
}

/** `npm run check` checks the same types: half the time of the build. */
function leaveTypesUnchecked(file: string): void {
  const { compilerOptions, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...rest, compilerOptions: { ...compilerOptions, noCheck: true } }))
}

/**
 * The dependencies are those of this checkout, so that npm unpacks none of them. What npm finds missing there comes from
 * its cache, and where the cache is gone from the registry.
 */
async function install(tarball: string, folder: string, env: Record<string, string>): Promise<void> {
  const args = ['install', tarball, '--no-audit', '--no-fund', '--ignore-scripts']
  try {
    const locked = readLocked()
    writeConsumer(folder, locked)
    for (const path of Object.keys(locked))
      if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
    await npm([...args, '--offline'], folder, env)
  } catch {
    rmSync(folder, { recursive: true })
    writeConsumer(folder, undefined)
    await npm([...args, '--prefer-offline', '--fetch-retries=1'], folder, env)
  }
}

function writeConsumer(folder: string, locked: object | undefined): void {
  mkdirSync(folder)
  const consumer = { name: 'consumer', private: true, type: 'module' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(consumer))
  if (!locked) return
  const lock = { name: 'consumer', lockfileVersion: 3, requires: true, packages: { '': consumer, ...locked } }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
}

/** What the lock file says of everything that is no tool of development. */
function readLocked(): object {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const entries = Object.entries<{ dev?: boolean }>(packages)
  return Object.fromEntries(entries.filter(([path, { dev }]) => path !== '' && !dev))
}
