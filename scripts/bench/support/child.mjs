import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const CARDEA = join(import.meta.dirname, '../../../bin/cardea')

/** Starts `cardea …` with this Node. `flags` are Node's own. */
export function startCardea(args, { cwd, flags = [] }) {
  const child = spawn(process.execPath, [...flags, CARDEA, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
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
export async function startServer(folder, flags = []) {
  const server = startCardea(['serve', '--config', folder], { cwd: folder, flags })
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
export function watchMemory({ pid }, everyMs = 20) {
  let peak
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
