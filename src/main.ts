import { runCommand } from './cli/program.ts'

/** Runs one command and gives the exit code. */
export const main = (argv: readonly string[]): Promise<number> => runCommand(argv)
