import { findTarget, type Target } from './compatibility.ts'
import { MODULES_OF_SETTINGS } from './compatibility-names.ts'
import { variableOf } from './environment.ts'
import { renderFlag } from './flags.ts'
import { FIXED, type OpenSection } from './option-table.ts'
import type { OptionName, OptionTable } from './options.ts'
import { findNearestOption, findNearestSection, type Notices, warn } from './problems.ts'
import { type Assignment, renderSource } from './settings.ts'

/** All assignments by kind, lowest layer first. */
export interface Classified {
  readonly own: Map<OptionName, Assignment[]>
  /** Set in an earlier section, which is used if the current section does not set the option. */
  readonly fallback: Map<OptionName, Assignment[]>
  readonly open: Readonly<Record<OpenSection, Assignment[]>>
  /** Those of sections `[kind:name]`. */
  readonly named: Assignment[]
  readonly ignored: Assignment[]
  /** Assignments under an old name. */
  readonly foreign: Assignment[]
}

export function classify(table: OptionTable, assignments: readonly Assignment[], report: Notices): Classified {
  const buckets: Classified = {
    own: new Map(),
    fallback: new Map(),
    open: { admins: [], jwt_keys: [], jwt_key_limits: [], services: [] },
    named: [],
    ignored: [],
    foreign: [],
  }
  for (const assignment of assignments) classifyOne(table, assignment, buckets, report)
  return buckets
}

function classifyOne(table: OptionTable, assignment: Assignment, buckets: Classified, report: Notices): void {
  const target = findTarget(table, assignment.section, assignment.key)
  // in no bucket, so that no list shows it as set
  if (assignment.source.kind === 'run time' && findFixedReason(target, assignment.key) !== undefined)
    warn(report, assignment, 'this cannot be set at run time and is ignored')
  else if (target.kind === 'option') classifyOption(target, assignment, buckets, report)
  else if (target.kind === 'fallback') {
    addTo(buckets.fallback, target.row.name, assignment)
    buckets.foreign.push(assignment)
  } else if (target.kind === 'open') buckets.open[target.section].push(assignment)
  else if (target.kind === 'named') buckets.named.push(assignment)
  else if (target.kind === 'unused') {
    buckets.ignored.push(assignment)
    if (target.note) warn(report, assignment, `this has no effect here. ${target.note}`)
  } else if (isDropped(target, assignment)) {
    buckets.ignored.push(assignment)
    reportStored(target, assignment, report)
  } else reportUnknown(table, assignment, report)
}

/** Why an option cannot be changed at run time; `undefined`: it can. */
export function findFixedReason(target: Target, key: string): string | undefined {
  if (target.kind === 'option' || target.kind === 'fallback') return target.row.option.fixed
  if (target.kind === 'named') return target.row.fixed
  if (target.kind !== 'open') return undefined
  if (target.section === 'services') return FIXED.gateway
  return key.startsWith('jwks:') ? FIXED.file : undefined
}

type OptionTarget = Extract<Target, { kind: 'option' }>

function classifyOption(target: OptionTarget, assignment: Assignment, buckets: Classified, report: Notices): void {
  addTo(buckets.own, target.row.name, assignment)
  if (!target.isOldName) return
  buckets.foreign.push(assignment)
  warn(report, assignment, `this is the old name of ${target.row.name}`)
}

/** An unknown section of a file was reported with its header. */
const isDropped = (target: Target, { source }: Assignment): boolean =>
  source.kind === 'run time' || (source.kind === 'file' && target.kind === 'unknown section')

/** A node of a newer version may have stored it, or one that had a module. */
function reportStored(target: Target, assignment: Assignment, report: Notices): void {
  const { section, key, source } = assignment
  const ofSection = target.kind === 'unknown section' ? MODULES_OF_SETTINGS.get(section) : undefined
  const module = MODULES_OF_SETTINGS.get(`${section}.${key}`) ?? ofSection
  if (source.kind === 'run time' && module !== undefined) {
    const message = `[${section}] ${key} is an option of the module ${module}, which this build of Cardea does not have`
    report.problems.push({ kind: 'unknown-option', place: renderSource(source), message })
  } else if (target.kind === 'unknown option')
    warn(report, assignment, 'this is not an option of this version; ignored')
}

function reportUnknown(table: OptionTable, assignment: Assignment, report: Notices): void {
  const { section, key, source } = assignment
  const nearest = renderNearest(table, assignment)
  const message = source.kind === 'file' ? `unknown option [${section}] ${key}` : 'unknown option'
  report.problems.push({ kind: 'unknown-option', place: renderSource(source), message, ...(nearest && { nearest }) })
}

function renderNearest(table: OptionTable, { section, key, source }: Assignment): string | undefined {
  const near = findNearestOption(table, findNearestSection(table, section) ?? section, key)
  if (!near) return undefined
  if (source.kind === 'flag') return renderFlag(source, near.section, near.key)
  if (source.kind === 'environment') return variableOf(near.section, near.key)
  return near.section === section ? near.key : `[${near.section}] ${near.key}`
}

function addTo<K>(map: Map<K, Assignment[]>, key: K, assignment: Assignment): void {
  const list = map.get(key)
  if (list) list.push(assignment)
  else map.set(key, [assignment])
}
