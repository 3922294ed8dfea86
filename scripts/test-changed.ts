// Runs the tests that are nearest to a change, as a first verdict; `npm test` runs all:
//   node scripts/test-changed.ts [base] [options of node --test]
// A change is what differs from the point at which the branch left `base` (main), and what is not committed.
// Nearest: by the number of imports between a test and a changed file. A test that starts a whole server is far from
// most files, so those with a word of the changed path in their own come earlier.
import { execFileSync } from 'node:child_process'
import { findDistances, type ImportGraph, readImportGraph } from './import-graph.ts'
import { runFiles } from './test-run.ts'

const MAX_FILES = 10
/** Always run if a source changed: the recorded cases of both doors. */
const RECORDED = ['test/conformance/document.test.ts', 'test/conformance/multi-model.test.ts']
/** Tests that take long, in processes and browsers of their own: run only if they changed themselves. */
const SLOW = /^test\/(console|docs|package|process|real|scripts)\//
/** By how many imports a word in common brings a test nearer. */
const WORD_IN_COMMON = 3

const git = (...args: string[]): string[] => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)

function listChanges(base: string): string[] {
  const [start = 'HEAD'] = git('merge-base', base, 'HEAD')
  return [...git('diff', '--name-only', start), ...git('ls-files', '--others', '--exclude-standard')]
}

const wordsOf = (path: string): Set<string> =>
  new Set(
    path
      .replace(/^(src|test)\//, '')
      .replace(/(\.test)?\.ts$/, '')
      .split(/[/.-]/),
  )

/** How near the test is to what changed; `Infinity` if it imports none of it. */
function rank(graph: ImportGraph, test: string, changed: readonly string[]): number {
  const distances = findDistances(graph, test)
  const toRank = (path: string): number => {
    const hasWord = !wordsOf(test).isDisjointFrom(wordsOf(path))
    return (distances.get(path) ?? Number.POSITIVE_INFINITY) - (hasWord ? WORD_IN_COMMON : 0)
  }
  if (changed.includes(test)) return Number.NEGATIVE_INFINITY
  return SLOW.test(test) ? Number.POSITIVE_INFINITY : Math.min(...changed.map(toRank))
}

function selectTests(graph: ImportGraph, changed: readonly string[]) {
  const tests = [...graph.keys()].filter((path) => path.endsWith('.test.ts'))
  const ranked = tests.map((test) => ({ test, rank: rank(graph, test, changed) }))
  const reached = ranked.filter((each) => each.rank < Number.POSITIVE_INFINITY).sort((a, b) => a.rank - b.rank)
  const near = reached.slice(0, MAX_FILES).map(({ test }) => test)
  const recorded = changed.some((path) => path.startsWith('src/')) ? RECORDED : []
  return { files: [...new Set([...near, ...recorded])], reached: reached.length }
}

const given = process.argv.slice(2)
const [base = 'main'] = given.filter((argument) => !argument.startsWith('-'))
const options = given.filter((argument) => argument.startsWith('-'))
const { files, reached } = selectTests(readImportGraph('src', 'test'), listChanges(base))
if (files.length > 0) process.exitCode = await runFiles(files, options)
console.log(`${files.length} of ${reached} test files that import what changed since ${base}; npm test runs all.`)
