// Runs the tests, all of them or one part:
//   node scripts/test.mjs [unit | scenario | process] [--slowest] [options of node --test]
// With --slowest it prints the ten slowest files at the end.
// Every test file belongs to exactly one part: what is neither in a folder of `scenario` nor of `process` is `unit`.
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'

const FOLDERS = {
  /** Against a server in the process of the test. */
  scenario: ['clients', 'conformance', 'console', 'real', 'scenario'],
  /** Against the command line, the package and the scripts, each a process of its own. */
  process: ['docs', 'package', 'process', 'scripts'],
}

const MAX_RUN_MS = 60 * 60 * 1000

const folderOf = (file) => file.split('/')[1]
const partOf = (file) => Object.keys(FOLDERS).find((part) => FOLDERS[part].includes(folderOf(file))) ?? 'unit'

function findFiles(part) {
  const files = globSync('test/**/*.test.ts').sort()
  return part === undefined ? files : files.filter((file) => partOf(file) === part)
}

const [first, ...rest] = process.argv.slice(2)
const hasPart = first !== undefined && !first.startsWith('-')
const files = findFiles(hasPart ? first : undefined)
const given = hasPart ? rest : process.argv.slice(2)
const SLOWEST = ['spec', './scripts/slowest-files.mjs'].flatMap((reporter) => [
  `--test-reporter=${reporter}`,
  '--test-reporter-destination=stdout',
])
const options = given.flatMap((option) => (option === '--slowest' ? SLOWEST : [option]))
if (files.length === 0) throw new Error(`no tests in the part ${first}`)

// The default leaves one core idle: on two cores it runs one file at a time. One file more than cores uses the time in
// which others wait for a timeout.
// A test and a suite may take long on a busy machine: the limit is for those that hang.
const limits = ['--test-timeout=600000', `--test-concurrency=${availableParallelism() + 1}`]
const setup = ['--test-global-setup=test/support/global-setup.ts', '--import=./test/support/end-with-tests.ts']
const args = ['--test', ...limits, ...setup, ...options, ...files]
// Compiled sources are kept for the next process: every test file loads nearly all of them. Coverage needs them whole.
const isCounting = options.includes('--experimental-test-coverage')
const env = { ...process.env, ...(!isCounting && { NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled') }) }
// A synchronous loop in a test has no other limit. The runner then names the files that were running.
const child = spawn(process.execPath, args, { stdio: 'inherit', env, timeout: MAX_RUN_MS })
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
