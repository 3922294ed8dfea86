import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** `npm test` gives a copy that loads in half the time (scripts/test-bundle.ts): its sizes measure nothing anyway. */
const OWN_PROGRAM = process.env['TEST_PROGRAM']

export const OWN_CHECKOUT = resolve(import.meta.dirname, '../..')

interface StartOptions {
  /** Whose Cardea is started. */
  readonly checkout?: string
  /** Of Node. */
  readonly flags?: readonly string[]
}

/** Starts `cardea …` with this Node. */
export function startCardea(
  args: readonly string[],
  { checkout = OWN_CHECKOUT, ...options }: StartOptions & { cwd: string },
) {
  const program = (checkout === OWN_CHECKOUT ? OWN_PROGRAM : undefined) ?? join(checkout, 'bin/cardea')
  return startProgram(program, args, options)
}

/** Starts a script with this Node. */
export function startProgram(
  program: string,
  args: readonly string[],
  { cwd, flags = [] }: Pick<StartOptions, 'flags'> & { cwd: string },
) {
  const child = spawn(process.execPath, [...flags, program, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = new EventEmitter()
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
      said.emit('more')
    })
  }
  const ended = once(child, 'close').then(([code]) => code)
  void ended.then(() => said.emit('more'))
  return {
    child,
    ended,
    output: () => output,
    /** Waits until its output after the first `from` characters matches. */
    async says(pattern, from = 0) {
      for (;;) {
        const found = pattern.exec(output.slice(from))
        if (found) return found
        if (child.exitCode !== null) throw new Error(`the server ended before it printed ${pattern}:\n${output}`)
        await once(said, 'more')
      }
    },
  }
}

/** Starts a server in a folder. Resolves with the URLs of its doors when they are open. */
export async function startServer(folder: string, options: StartOptions = {}) {
  const server = startCardea(['serve', '--config', folder], { cwd: folder, ...options })
  const [line] = await server.says(/^\{.*"msg":"listening"\}$/m)
  const { document, multiModel } = JSON.parse(line)
  return {
    ...server,
    document: document[0],
    multiModel: multiModel[0],
    async stop() {
      server.child.kill('SIGTERM')
      await server.ended
    },
  }
}

/** Watches the memory of a process. The result returns its peak in MiB; `undefined` where the system has no such file. */
export function watchMemory({ pid }: ChildProcess, everyMs = 20) {
  let peak: number | undefined
  const look = () => {
    try {
      const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      if (kib !== undefined) peak = Number(kib) / 1024
    } catch {
      // the process has ended, or the system has no such file
    }
  }
  const timer = setInterval(look, everyMs)
  return () => {
    clearInterval(timer)
    return peak
  }
}
