// The sections `[kind:name]`: reads and checks what the layers set.
import { findNearest } from '../base/nearest.ts'
import { kindOf, type NamedSection, type OptionTable } from './options.ts'
import { addProblem, type Notices } from './problems.ts'
import { readAssigned, warnAboutValue } from './resolve.ts'
import type { SecretFiles } from './secrets.ts'
import { type Assignment, type NamedEntries, renderSource } from './settings.ts'

const NAME = /^[a-z][a-z0-9-]{0,31}$/

/** For each kind of section its entries, in the order of the layers. */
export function resolveNamed(
  { named }: OptionTable,
  given: readonly Assignment[],
  files: SecretFiles,
  report: Notices,
): NamedEntries {
  const byKind = Map.groupBy(given, ({ section }) => kindOf(section))
  const entries = [...named].map(([kind, row]) => {
    const found = readSections(kind, row, byKind.get(kind) ?? [], { files, report })
    checkSections(kind, row, found, report)
    return [kind, found] as const
  })
  // has the values of each kind, because the rows of the kind were read
  return Object.fromEntries(entries) as unknown as NamedEntries
}

interface Work {
  readonly files: SecretFiles
  readonly report: Notices
}

const readSections = (kind: string, row: NamedSection, given: readonly Assignment[], work: Work) =>
  [...Map.groupBy(given, ({ section }) => section)].flatMap(([section, assignments]) => {
    const [first] = assignments
    const name = section.slice(kind.length + 1)
    if (!first) return []
    if (!NAME.test(name)) {
      const why = `name the section [${kind}:<name>]: small letters, digits and hyphens, beginning with a letter`
      addProblem(work.report, 'bad-value', first, why)
      return []
    }
    const last = new Map(assignments.map((assignment) => [assignment.key, assignment]))
    const defaults = Object.entries(row.rows).map(([key, { initial }]) => [key, initial] as const)
    const read = [...last.values()].flatMap((each) => readValue(row, each, work))
    return [{ name, values: Object.fromEntries([...defaults, ...read]), source: first.source }]
  })

function readValue({ rows }: NamedSection, assignment: Assignment, { files, report }: Work) {
  const { section, key, source } = assignment
  const option = Object.hasOwn(rows, key) ? rows[key] : undefined
  if (!option) {
    const nearest = findNearest(key, Object.keys(rows))
    const problem = { place: renderSource(source), message: `unknown option [${section}] ${key}` }
    report.problems.push({ kind: 'unknown-option', ...problem, ...(nearest && { nearest }) })
    return []
  }
  const read = readAssigned(option, assignment, files, report)
  if (!read) return []
  warnAboutValue(option, { ...read, assignment }, report)
  return [[key, read.value] as const]
}

function checkSections(
  kind: string,
  row: NamedSection,
  entries: ReturnType<typeof readSections>,
  { problems, warnings }: Notices,
): void {
  for (const { name, message: why, isWarning } of row.check(entries)) {
    const message = `[${kind}:${name}] ${why}`
    const source = entries.find((entry) => entry.name === name)?.source
    if (isWarning) warnings.push(message)
    else problems.push({ kind: 'bad-value', place: source ? renderSource(source) : '', message })
  }
}
