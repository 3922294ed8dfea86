// Runs commands of Cardea one after the other in one process, for test/support/commands.ts.
import './cheap-hashes.ts'
import { writeSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { CommandResult, HostedCommand } from './commands.ts'
import { importBundled } from './process.ts'

let input = Readable.from([])
// the program keeps the standard input it finds when it is loaded: each command gets its own behind it
const standardInput = new Proxy(process.stdin, {
  get(_, key) {
    const value: unknown = Reflect.get(input, key)
    return typeof value === 'function' ? value.bind(input) : value
  },
})
Object.defineProperty(process, 'stdin', { value: standardInput })

const { main } = await importBundled('main')

async function runCommand({ args, cwd, env, text }: HostedCommand): Promise<CommandResult> {
  input = Readable.from(text === undefined ? [] : [Buffer.from(text)])
  process.chdir(cwd)
  process.env = { ...env }
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
  } catch (error) {
    return { code: 1, ...output, stderr: `${output.stderr}${error instanceof Error ? error.stack : error}` }
  } finally {
    process.stdout.write = writeOut
    process.stderr.write = writeError
    // each command adds some, and expects to be the only command of its process
    for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error')
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.removeAllListeners(signal)
  }
}

process.on('message', async (command: HostedCommand) => {
  const result = await runCommand(command)
  writeSync(2, command.endOfLog)
  process.send?.(result)
})
process.on('disconnect', () => process.exit())
