// Measures Cardea and a baseline:
//   npm run bench -- [names…] [--runs=N] [--sizes=N,…] [--write] [--json=FILE] [--against=DIR]
// A bench is a file bench/<name>.ts that exports `bench`: { title, about, runs, run(runs, sizes, checkouts) }.
// `run` returns { columns, rows, isGoalMet }, and `after` if something follows from them; each bench defines its sizes.
// `checkouts` are those of --against, which gateway-cpu, gateway-handler and session compare with this one. With --write
// its table goes to docs/background/benchmarks.md, or to its own `page` there, between comments with its name. The last
// table has the rows of all benches of the run; --json writes them to a file.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'

const FOLDER = new URL('./', import.meta.url)
const PAGES = new URL('../docs/background/', import.meta.url)

const HEAD = `# Benchmarks

Each table is written by \`npm run bench -- <name> --write\`. It measures Cardea and a baseline in turn, on one machine in one
run: ratios carry over to another machine, times do not. The load shows whether the machine was busy; then times are
longer and ratios vary more.
`

/** Other scripts in the folder are started by a bench. They must not be imported, because an import would run them. */
const isBench = (name) =>
  name.endsWith('.ts') && /^export const bench\b/m.test(readFileSync(new URL(name, FOLDER), 'utf8'))

interface Result {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly isGoalMet: boolean
  /** What follows from the table. */
  readonly after?: string
}

interface Bench {
  readonly title: string
  readonly about: string
  readonly runs: number
  /** The page of its table, unless it is that of all benches. */
  readonly page?: string
  run(runs: number, sizes?: readonly number[], checkouts?: readonly string[]): Promise<Result>
}

async function loadBenches(): Promise<Map<string, Bench>> {
  const loaded = readdirSync(FOLDER)
    .filter(isBench)
    .map(
      async (name): Promise<[string, Bench]> => [
        name.slice(0, -'.ts'.length),
        (await import(new URL(name, FOLDER).href)).bench,
      ],
    )
  return new Map(await Promise.all(loaded))
}

const renderRow = (cells) => `| ${cells.join(' | ')} |`

function renderTable({ columns, rows }) {
  const line = columns.map((_, index) => (index === 0 ? '---' : '---:'))
  return [columns, line, ...rows].map(renderRow).join('\n')
}

/** The load of the machine in the minute before. */
const load = loadavg()[0].toFixed(1)

const describeMachine = () =>
  `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, load ${load} before it began, ` +
  `Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`

const renderSection = ({ title, about }, result, runs) =>
  `## ${title}\n\n${about}\n\n${renderTable(result)}\n\n${result.after ? `${result.after}\n\n` : ''}${runs} runs, ${describeMachine()}.`

function writeSection(name, section, file = 'benchmarks.md') {
  const [open, close] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`]
  const url = new URL(file, PAGES)
  const page = existsSync(url) ? readFileSync(url, 'utf8') : HEAD
  const [from, to] = [page.indexOf(open), page.indexOf(close)]
  const marked = `${open}\n${section}\n${close}`
  const next =
    from < 0 || to < from ? `${page}\n${marked}\n` : page.slice(0, from) + marked + page.slice(to + close.length)
  writeFileSync(url, next)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: 'boolean', default: false },
    runs: { type: 'string' },
    sizes: { type: 'string' },
    against: { type: 'string', multiple: true },
    json: { type: 'string' },
  },
})
const benches = await loadBenches()
const unknown = positionals.filter((name) => !benches.has(name))
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}. There are: ${[...benches.keys()].join(', ')}`)
  process.exit(2)
}
const measured: { readonly name: string; readonly runs: number; readonly result: Result }[] = []
for (const [name, bench] of benches) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  const runs = Number(values.runs ?? bench.runs)
  const result = await bench.run(runs, values.sizes?.split(',').map(Number), values.against)
  const section = renderSection(bench, result, runs)
  console.log(`${section}\n${result.isGoalMet ? 'The goal is met.' : 'THE GOAL IS NOT MET.'}\n`)
  if (values.write) writeSection(name, section, bench.page)
  measured.push({ name, runs, result })
}
const rows = measured.flatMap(({ name, result }) =>
  result.rows.map(([row, ...figures]) => [name, row, figures.join(', ')]),
)
console.log(renderTable({ columns: ['bench', '', 'figures'], rows }))
if (values.json) writeFileSync(values.json, `${JSON.stringify({ machine: describeMachine(), measured }, null, 2)}\n`)
