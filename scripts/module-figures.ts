// Counts the lines of each module and the files of the core that mention it, as in docs/background/architecture.md. With
// --write it writes the figures into that page; the words beside them stay. With --check it fails if the page has not
// all modules, other files, or lines that are a tenth away (of the core: a hundredth).
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MODULE_LISTS, moduleOf } from './layers.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = join(ROOT, 'docs/background/architecture.md')

const FILES = globSync('**/*.ts', { cwd: join(ROOT, 'src') })
  .filter((file) => !MODULE_LISTS.includes(file))
  .map((file) => ({ module: moduleOf(file), text: readFileSync(join(ROOT, 'src', file), 'utf8') }))
const CORE = FILES.filter(({ module }) => module === undefined)

const countLines = (files: typeof FILES): number =>
  files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)

/** `password-links` is also mentioned as `passwordLink` and "password link". */
const toPattern = (name: string): RegExp => new RegExp(name.replace(/s$/, '').replaceAll('-', '.?'), 'i')

const FIGURES = [...new Set(FILES.flatMap(({ module }) => module ?? []))].toSorted().map((name) => ({
  name,
  lines: countLines(FILES.filter(({ module }) => module === name)),
  mentions: CORE.filter(({ text }) => toPattern(name).test(text)).length,
}))

const toRow = ({ name, lines, mentions }: (typeof FIGURES)[number], words = '') =>
  `| \`${name}\` | ${Math.round(lines / 10) * 10} | ${mentions} |${words}`

/** 64 100: a line more or less says nothing. */
const toRounded = (lines: number): string => String(Math.round(lines / 100) * 100).replace(/\B(?=(?:\d{3})+$)/g, ' ')

function writeFigures(page: string): string {
  const rows = FIGURES.reduce(
    (text, row) =>
      text.replace(new RegExp(`^\\| \`${row.name}\` \\|[^|]*\\|[^|]*\\|(.*)$`, 'm'), (_, words) => toRow(row, words)),
    page,
  )
  return rows.replace(/^The core has [\d ]+ lines\./m, `The core has ${toRounded(countLines(CORE))} lines.`)
}

/** A line more or less is no reason to write the page again. */
const isNear = (stated: number, lines: number, share: number): boolean =>
  Math.abs(stated - lines) <= Math.max(lines * share, 20)

function findWrong(page: string): readonly string[] {
  const core = /^The core has ([\d ]+) lines\./m.exec(page)?.[1]?.replaceAll(' ', '')
  const wrong = FIGURES.filter(({ name, lines, mentions }) => {
    const [, stated, files] = new RegExp(`^\\| \`${name}\` \\| (\\d+) \\| (\\d+) \\|`, 'm').exec(page) ?? []
    return Number(files) !== mentions || !isNear(Number(stated), lines, 0.1)
  })
  const isCoreNear = isNear(Number(core), countLines(CORE), 0.01)
  return [...wrong.map((row) => toRow(row)), ...(isCoreNear ? [] : ['the lines of the core'])]
}

if (process.argv.includes('--check')) {
  const wrong = findWrong(readFileSync(PAGE, 'utf8'))
  if (wrong.length > 0)
    console.log(`${PAGE} says otherwise: ${wrong.join('; ')}. Run scripts/module-figures.ts --write`)
  process.exitCode = wrong.length > 0 ? 1 : 0
} else {
  if (process.argv.includes('--write')) writeFileSync(PAGE, writeFigures(readFileSync(PAGE, 'utf8')))
  for (const row of FIGURES) console.log(toRow(row))
  console.log(
    `core: ${countLines(CORE)} lines in ${CORE.length} files; modules: ${countLines(FILES) - countLines(CORE)} lines`,
  )
}
