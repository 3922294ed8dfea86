import { setImmediate as turn } from 'node:timers/promises'
import { catchSignals, isServing } from './cli/signals.ts'

/** Runs one command and gives the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  // before the rest is loaded, which takes longer than a supervisor may wait with its first signal
  const signals = argv.some(isServing) ? catchSignals() : undefined
  const { runCommand } = await import('./cli/program.ts')
  if (signals) await hearSignals()
  return runCommand(argv, signals)
}

/** Loading lets nothing else happen: what came meanwhile is heard in the whole turn that follows. */
async function hearSignals(): Promise<void> {
  await turn()
  await turn()
}
