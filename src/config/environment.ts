import { findNearest } from '../base/nearest.ts'
import { FOREIGN_NAMES } from './compatibility.ts'
import { FOREIGN_SECTIONS } from './compatibility-names.ts'
import { OPEN_SECTIONS } from './option-table.ts'
import { type OptionTable, splitName } from './options.ts'
import type { Problem } from './problems.ts'
import { toFileReference } from './secrets.ts'
import type { Assignment } from './settings.ts'

const PREFIX = 'CARDEA_'
const FILE_SUFFIX = '_FILE'
/** Variables that are not options. */
const OWN = new Set(['CARDEA_CONFIG'])

const spell = (word: string): string => word.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()

/** `CARDEA_SECTION__OPTION`. */
export const variableOf = (section: string, key: string): string => `${PREFIX}${spell(section)}__${spell(key)}`

interface VariablePlace {
  readonly section: string
  readonly key: string
}

interface Found extends VariablePlace {
  readonly isFile: boolean
}

interface Variables {
  readonly places: ReadonlyMap<string, VariablePlace>
  readonly secretFiles: ReadonlyMap<string, VariablePlace>
  readonly open: readonly { readonly section: string; readonly prefix: string; readonly isNamed: boolean }[]
}

const toOpen = (section: string, isNamed: boolean) => ({ section, prefix: variableOf(section, ''), isNamed })

/** The variables of all options. */
const listVariables = ({ rows, named }: OptionTable): Variables => ({
  // Rows of the table come last, so that a foreign name with the same spelling cannot hide one.
  places: new Map(
    [...FOREIGN_NAMES.map(splitName), ...rows].map(
      ({ section, key }) => [variableOf(section, key), { section, key }] as const,
    ),
  ),
  secretFiles: new Map(
    rows
      .filter((row) => row.option.secret)
      .map((row) => [`${variableOf(row.section, row.key)}${FILE_SUFFIX}`, row] as const),
  ),
  open: [
    ...OPEN_SECTIONS.map((section) => toOpen(section, false)),
    ...[...named.keys()].map((kind) => toOpen(kind, true)),
  ],
})

/** Options set in the environment. `…_FILE` names the file that contains a secret. */
export function readEnvironment(environment: Readonly<Record<string, string | undefined>>, table: OptionTable) {
  const assignments: Assignment[] = []
  const problems: Problem[] = []
  const given = Object.keys(environment)
    .filter((name) => name.toUpperCase().startsWith(PREFIX) && !OWN.has(name))
    .sort()
  if (given.length === 0) return { assignments, problems }
  const variables = listVariables(table)
  for (const name of given) {
    const value = environment[name]
    if (value === undefined) continue
    const found = findPlace(name, variables)
    if (found) assignments.push(toAssignment(found, name, value))
    else problems.push(...checkUnknown(name, value, variables))
  }
  return { assignments, problems: [...problems, ...findDuplicates(assignments)] }
}

/**
 * A misspelt variable has no effect: `CARDEA_CHTTPD_REQUIRE_VALID_USER` would leave the door open. So every unknown name
 * with this prefix is a problem.
 */
function checkUnknown(name: string, value: string, { places }: Variables): readonly Problem[] {
  // an option in a section of CouchDB or ArangoDB that Cardea does not have
  const isForeign = FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix))
  if (isForeign || isOfKubernetes(name, value)) return []
  const nearest = findNearest(name, [...OWN, ...places.keys()], 3)
  return [{ kind: 'unknown-option', place: name, message: 'unknown option', ...(nearest && { nearest }) }]
}

const SERVICE_NAME = /^CARDEA(?:_[A-Z0-9]+)*_SERVICE_(?:HOST|PORT(?:_[A-Z0-9]+)*)$/
const LINK_NAME = /^CARDEA(?:_[A-Z0-9]+)*_PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/
const LINK_PART_NAME = /^CARDEA(?:_[A-Z0-9]+)*_PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)$/
const LINK = /^(?:tcp|udp|sctp):\/\//

/** Kubernetes sets these in every container if there is a Service `cardea` or `cardea-…`. `_PORT` is a URL there. */
const isOfKubernetes = (name: string, value: string): boolean =>
  SERVICE_NAME.test(name) || LINK_PART_NAME.test(name) || (LINK_NAME.test(name) && LINK.test(value))

const FOREIGN_PREFIXES = [...FOREIGN_SECTIONS].map((section) => variableOf(section, ''))

function findPlace(name: string, variables: Variables): Found | undefined {
  const place = variables.places.get(name)
  if (place) return { ...place, isFile: false }
  const file = variables.secretFiles.get(name)
  if (file) return { section: file.section, key: file.key, isFile: true }
  const open = variables.open.find(({ prefix }) => name.startsWith(prefix) && name.length > prefix.length)
  if (!open) return undefined
  const key = name.slice(open.prefix.length)
  // Names with this ending are rarer than mounted secrets, and a path must never become a password.
  const isFile = key.endsWith(FILE_SUFFIX) && key.length > FILE_SUFFIX.length
  const written = isFile ? key.slice(0, -FILE_SUFFIX.length) : key
  const opened = open.isNamed ? toNamedPlace(open.section, written) : { section: open.section, key: written }
  return { ...opened, isFile }
}

/** `<NAME>__<OPTION>`: names of such sections and their options have small letters and hyphens. */
function toNamedPlace(kind: string, written: string): VariablePlace {
  const [name = '', key = ''] = written.toLowerCase().replaceAll('__', '\0').replaceAll('_', '-').split('\0', 2)
  return { section: `${kind}:${name}`, key }
}

function toAssignment({ section, key, isFile }: Found, name: string, value: string): Assignment {
  return { section, key, text: isFile ? toFileReference(value) : value, source: { kind: 'environment', name } }
}

function findDuplicates(assignments: readonly Assignment[]): Problem[] {
  const seen = new Map<string, string>()
  return assignments.flatMap(({ section, key, source }) => {
    const name = source.kind === 'environment' ? source.name : ''
    const earlier = seen.get(`${section}.${key}`)
    seen.set(`${section}.${key}`, name)
    return earlier === undefined
      ? []
      : [{ kind: 'conflict' as const, place: name, message: `${earlier} sets the same option; remove one of them` }]
  })
}
