/**
 * `cardea serve` for tests of commands and clients, in a process that earlier servers have used: loading the program
 * takes most of the time of a start. For what only a process of its own can show, use `start` of process.ts.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bareEnvironment, type Ending, type Output, type Started, toStarted } from './process.ts'
import type { Scope } from './scope.ts'

/** What a host is sent. */
export interface HostedServer {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** To be written to both streams after the last output of the server. */
  readonly endOfOutput: string
}

const END_OF_OUTPUT = '\0'
const STOP_LIMIT_MS = 10_000

const idle = new Set<ChildProcess>()
/** Hosts whose server was asked to stop. A second SIGTERM could arrive when the next server of the host runs. */
const stopping = new WeakSet<ChildProcess>()

/** A server that ends with its scope. */
export function startShared(scope: Scope, args: readonly string[], options: SharedOptions = {}): Started {
  const server = startHosted(args, options.cwd ?? tmpdir(), options.env)
  scope.after(() => endHosted(server))
  return server
}

interface SharedOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export function startHosted(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): Started {
  const [host = startHost()] = idle
  idle.delete(host)
  stopping.delete(host)
  host.channel?.ref()
  const output: Output = { stdout: '', stderr: '' }
  const detach = collect(host, output)
  host.send({ args, cwd, env: { ...bareEnvironment(), ...env }, endOfOutput: END_OF_OUTPUT } satisfies HostedServer)
  const returned = once(host, 'message').then(async ([code]): Promise<Ending> => {
    while (!output.stdout.endsWith(END_OF_OUTPUT) || !output.stderr.endsWith(END_OF_OUTPUT)) await once(host, 'said')
    detach()
    for (const name of ['stdout', 'stderr'] as const) output[name] = output[name].slice(0, -END_OF_OUTPUT.length)
    host.channel?.unref()
    idle.add(host)
    return { code, signal: null }
  })
  const closed = once(host, 'close').then(([code, signal]): Ending => ({ code, signal }))
  return toStarted(host, output, Promise.race([returned, closed]))
}

/** Its process is kept for the next server, unless it does not stop. */
export async function endHosted({ child, ended }: Started): Promise<void> {
  if (idle.has(child) || child.exitCode !== null || child.signalCode !== null) return
  if (!stopping.has(child)) child.kill('SIGTERM')
  const isLate = pause(STOP_LIMIT_MS, true, { ref: false })
  if ((await Promise.race([ended, isLate])) === true) child.kill('SIGKILL')
}

/** An idle host does not keep this process alive, and ends with it. */
function startHost(): ChildProcess {
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
  const host = fork(join(import.meta.dirname, 'server-host.ts'), { env: bareEnvironment(), stdio: [...stdio] })
  host.setMaxListeners(0).once('exit', () => idle.delete(host))
  const kill = host.kill.bind(host)
  host.kill = (signal) => {
    if (signal === 'SIGTERM') stopping.add(host)
    return kill(signal)
  }
  for (const stream of [host.stdout, host.stderr]) {
    stream?.setEncoding('utf8')
    if (stream instanceof Socket) stream.unref()
  }
  host.unref()
  return host
}

function collect(host: ChildProcess, output: Output): () => void {
  const stops = (['stdout', 'stderr'] as const).map((name) => {
    const note = (text: string) => {
      output[name] += text
      host.emit('said')
    }
    host[name]?.on('data', note)
    return () => host[name]?.off('data', note)
  })
  return () => {
    for (const stop of stops) stop()
  }
}
