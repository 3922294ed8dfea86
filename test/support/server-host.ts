// Runs servers of Cardea one after the other in one process, for test/support/hosted-server.ts.
import './cheap-hashes.ts'
import { writeSync } from 'node:fs'
import type { HostedServer } from './hosted-server.ts'
import { importBundled } from './process.ts'

const { runCommand } = await importBundled('cli/program')
const { catchSignals } = await importBundled('cli/signals')

process.on('message', async ({ args, cwd, env, endOfOutput }: HostedServer) => {
  process.chdir(cwd)
  process.env = { ...env }
  // as src/main.ts does, but without the end of the process a second after the server has stopped
  const code = await runCommand(args, { ...catchSignals(), endSoon: () => {} })
  // each command adds some, and expects to be the only command of its process
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error')
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.removeAllListeners(signal)
  for (const file of [1, 2]) writeSync(file, endOfOutput)
  process.send?.(code)
})
process.on('disconnect', () => process.exit())
