// Runs commands of Cardea one after the other in one process. Loading the program takes most of the time of a command,
// so a table of a hundred commands takes seconds here instead of minutes.
import { Readable } from 'node:stream'
import type { CommandResult, HostedCommand } from './managed.ts'

let input = Readable.from([])
// the program keeps the standard input it finds when it is loaded: each command gets its own behind it
const standardInput = new Proxy(process.stdin, {
  get(_, key) {
    const value: unknown = Reflect.get(input, key)
    return typeof value === 'function' ? value.bind(input) : value
  },
})
Object.defineProperty(process, 'stdin', { value: standardInput })

const { main } = await import('../../src/main.ts')

async function runCommand({ args, cwd, text }: HostedCommand): Promise<CommandResult> {
  input = Readable.from(text === undefined ? [] : [Buffer.from(text)])
  process.chdir(cwd)
  const output = { stdout: '', stderr: '' }
  const [writeOut, writeError] = [process.stdout.write, process.stderr.write]
  const record = (name: keyof typeof output) => (chunk: string | Uint8Array) => {
    output[name] += Buffer.from(chunk as Uint8Array).toString()
    return true
  }
  process.stdout.write = record('stdout')
  process.stderr.write = record('stderr')
  try {
    return { code: await main(args), ...output }
  } finally {
    process.stdout.write = writeOut
    process.stderr.write = writeError
    // each command adds one, and expects to be the only command of its process
    for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error')
  }
}

process.on('message', async (command: HostedCommand) => process.send?.(await runCommand(command)))
