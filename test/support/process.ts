import assert from 'node:assert/strict'
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Scope } from './scope.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The command of the checkout, which runs its sources. */
export const CARDEA = join(ROOT, 'bin', 'cardea')
/** The same in few files, which load in half the time: scripts/test-bundle.ts. Coverage counts the sources. */
export const BUNDLED = process.env['NODE_V8_COVERAGE'] ? CARDEA : (process.env['TEST_PROGRAM'] ?? CARDEA)

/** A module of the program as `BUNDLED` has it. */
export const findBundled = (name: string): string =>
  BUNDLED === CARDEA ? join(ROOT, 'src', `${name}.ts`) : join(BUNDLED, '../../dist', `${name}.js`)

export const importBundled = (name: string) => import(findBundled(name))

/** Any free ports, for tests that start a server. */
export const FREE_PORTS = ['--chttpd.port', '0', '--server.endpoint', 'tcp://127.0.0.1:0']
/** Nothing on disk, and cheap hashes. */
export const IN_MEMORY = [...FREE_PORTS, '--store.url', 'sqlite::memory:', '--chttpd_auth.iterations', '1']

export interface StartOptions {
  /** The program and its first arguments; by default this Node and `BUNDLED`. */
  readonly command?: readonly string[]
  readonly cwd?: string
  /** `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The process starts others: all get a process group, which is killed as a whole. */
  readonly hasFamily?: true
  /** Standard input; closed unless given. */
  readonly input?: string
  /** An open file the process finds as /dev/fd/3. */
  readonly file?: number
}

/** Environment that makes a process send itself this signal while it loads its program. */
export function signalWhileLoading(signal: NodeJS.Signals): Record<string, string> {
  const program = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      if (/\\/cli\\/program\\.[jt]s$/.test(url)) process.kill(process.pid, '${signal}')
      return next(url, context)
    } })`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` }
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** The exit code or signal, after all of its output was read. */
  readonly ended: Promise<Ending>
  /** Waits until either output stream matches; rejects if the process ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** Waits until the server listens. */
  doors(): Promise<{ readonly document: string; readonly multiModel: string }>
}

/** Cheap hashes, unless an argument says otherwise: a hash of the default costs as much time as the start of a server. */
const CHEAP_HASHES = { CARDEA_CHTTPD_AUTH__ITERATIONS: '1' }

/** Without the variables of the developer, which could change a result. Those for coverage and the compile cache stay. */
export const bareEnvironment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: tmpdir(),
  ...CHEAP_HASHES,
  ...(BUNDLED === CARDEA ? {} : { TEST_PROGRAM: BUNDLED }),
  ...(process.env['NODE_V8_COVERAGE'] ? toCountedEnvironment(process.env['NODE_V8_COVERAGE']) : COMPILED),
})

const COMPILED = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(ROOT, 'node_modules', '.cache', 'compiled'),
}

/** Coverage is exact only for sources that are compiled whole. */
const toCountedEnvironment = (folder: string) => ({ NODE_V8_COVERAGE: folder, NODE_DISABLE_COMPILE_CACHE: '1' })

/** Those that their scope has not killed. A test file that is ended early runs no clean-up. */
const running = new Set<() => void>()
process.once('exit', () => {
  for (const kill of running) kill()
})

/** Starts a process, killed with its scope. */
export function start(scope: Scope, args: readonly string[], options: StartOptions = {}): Started {
  const [program = '', ...first] = options.command ?? [process.execPath, BUNDLED]
  const child = spawn(program, [...first, ...args], {
    cwd: options.cwd ?? tmpdir(),
    detached: options.hasFamily === true,
    env: { ...bareEnvironment(), ...options.env },
    stdio: [
      options.input === undefined ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
      ...(options.file === undefined ? [] : [options.file]),
    ] as StdioOptions,
  })
  child.stdin?.on('error', () => {}).end(options.input) // it may end without reading
  const kill = () => (options.hasFamily ? killGroup(child) : child.kill('SIGKILL'))
  running.add(kill)
  scope.after(kill)
  const output = collect(child)
  const ended = once(child, 'close').then(([code, signal]): Ending => ({ code, signal }))
  child.once('close', () => running.delete(kill))
  return toStarted(child, output, ended)
}

/** `child` emits `said` when there is more output. */
export function toStarted(child: ChildProcess, output: Output, ended: Promise<Ending>): Started {
  const says = (pattern: RegExp) => waitFor(child, ended, output, pattern)
  return {
    child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    ended,
    says,
    async doors() {
      const [line] = await says(/^\{.*"msg":"listening"\}$/m)
      const { document, multiModel } = JSON.parse(line)
      return { document: document[0], multiModel: multiModel[0] }
    },
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // all of it has ended
  }
}

export type Output = { stdout: string; stderr: string }

function collect(child: ChildProcess): Output {
  const output: Output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text) => {
      output[name] += text
      child.emit('said')
    })
  }
  return output
}

function waitFor(
  child: ChildProcess,
  ended: Promise<Ending>,
  output: Output,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = pattern.exec(output.stdout) ?? pattern.exec(output.stderr)
      if (!found) return
      child.off('said', look)
      resolve(found)
    }
    child.on('said', look)
    look()
    void ended.then(({ code, signal }) =>
      reject(new Error(`ended with ${signal ?? code} before it said ${pattern}:\n${output.stdout}${output.stderr}`)),
    )
  })
}

/** Runs a process to its end. */
export async function run(scope: Scope, args: readonly string[], options: StartOptions = {}) {
  const started = start(scope, args, options)
  const ending = await started.ended
  return { ...ending, stdout: started.stdout(), stderr: started.stderr() }
}

/** Stops the process with SIGTERM and expects exit code 0. */
export async function stop({ child, ended, stderr }: Started): Promise<void> {
  child.kill('SIGTERM')
  const { code, signal } = await ended
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr())
}

const basicOf = (user: readonly [string, string]) => `Basic ${Buffer.from(user.join(':')).toString('base64')}`

/** The status and body of a GET; with a name and password by Basic. */
export async function get(url: string, user?: readonly [name: string, password: string]) {
  const headers = { connection: 'close', ...(user ? { authorization: basicOf(user) } : {}) }
  const response = await fetch(url, { headers })
  return { status: response.status, body: await response.text() }
}

/** Whether a name and password are accepted at a document door. */
export const signsIn = async (door: string, user: readonly [name: string, password: string]): Promise<boolean> =>
  (await get(`${door}/_session`, user)).status === 200
