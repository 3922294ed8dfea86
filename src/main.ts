import { setImmediate as turn } from 'node:timers/promises'
import { catchSignals, isServing } from './cli/signals.ts'

/** Runs one command and returns its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  // before the other modules are loaded: a supervisor may send a signal meanwhile
  const signals = argv.some(isServing) ? catchSignals() : undefined
  const { runCommand } = await import('./cli/program.ts')
  if (signals) await handlePendingSignals()
  return runCommand(argv, signals)
}

/** Loading modules blocks the event loop. A signal that arrived meanwhile is handled in the turn after the current one. */
async function handlePendingSignals(): Promise<void> {
  await turn()
  await turn()
}
