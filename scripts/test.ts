// Runs the tests, all of them, one part, or the files and folders that are named:
//   node scripts/test.ts [unit | scenario | process | paths…] [--times] [options of node --test]
// With --times it prints what folders and files take.
import { globSync } from 'node:fs'
import { runFiles } from './test-run.ts'

/** Every test file belongs to exactly one part: what is neither in `scenario` nor in `process` is `unit`. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  unit: [],
  /** Against a server in the process of the test. */
  scenario: ['client', 'clients', 'conformance', 'console', 'real', 'scenario'],
  /** Against the command line, the package and the scripts, each a process of its own. */
  process: ['docs', 'package', 'process', 'scripts'],
}

const partOf = (file: string): string =>
  Object.keys(PARTS).find((part) => PARTS[part]?.includes(file.split('/')[1] ?? '')) ?? 'unit'

const isSelected = (file: string, names: readonly string[]): boolean =>
  names.length === 0 || names.some((name) => (name in PARTS ? partOf(file) === name : file.startsWith(name)))

const given = process.argv.slice(2)
const names = given.filter((argument) => !argument.startsWith('-'))
const options = given.filter((argument) => argument.startsWith('-'))
const files = globSync('test/**/*.test.ts').filter((file) => isSelected(file, names))
if (files.length === 0) throw new Error(`no tests for ${names.join(' ')}`)
process.exitCode = await runFiles(files, options)
