// Combines files, run-time settings, environment and flags into complete, checked, frozen settings, and collects all
// problems. Problems and warnings never contain a secret.

import { type Classified, classify } from './classify.ts'
import { checkKeyLimits } from './key-limits.ts'
import { type LayerInput, readLayers } from './layers.ts'
import { resolveNamed } from './named-sections.ts'
import { checkServices, findOverruledPasswords, resolveAdmins, resolveOpen } from './open-sections.ts'
import { type AllValues, type Rule, type RuleFinding, splitName } from './options.ts'
import { type Notices, type Problem, renderAt } from './problems.ts'
import { type Resolution, resolveOptions } from './resolve.ts'
import { RULES, toRulePlace } from './rules.ts'
import { checkFileModes, type SecretFiles } from './secrets.ts'
import { type Assignment, createSettings, joinNames, renderSource, type Settings } from './settings.ts'

export interface ConfigReading {
  /** Usable only if there are no problems: a bad value is replaced by its default. */
  readonly settings: Settings
  readonly problems: readonly Problem[]
  /** Messages with their place. They do not prevent a start. */
  readonly warnings: readonly string[]
}

/** `rules`: in addition to those of the table. */
export function readSettings(input: LayerInput & SecretFiles & { readonly rules?: readonly Rule[] }): ConfigReading {
  const report: Notices = { problems: [], warnings: [] }
  const { table } = input
  const layers = readLayers(input, report)
  const sorted = classify(table, layers.assignments, report)
  const options = resolveOptions(table, sorted, input, report)
  const open = {
    jwt_keys: resolveOpen('jwt_keys', sorted.open.jwt_keys, input, report),
    jwt_key_limits: resolveOpen('jwt_key_limits', sorted.open.jwt_key_limits, input, report),
    services: resolveOpen('services', sorted.open.services, input, report),
  }
  report.problems.push(...checkKeyLimits(open.jwt_key_limits), ...checkServices(open.services))
  const named = resolveNamed(table, sorted.named, input, report)
  const rules = [...RULES, ...table.rules, ...(input.rules ?? [])]
  checkRules(rules, { values: options.values, open }, options, report)
  report.warnings.push(...checkFileModes(input.files, table))
  const settings = createSettings({
    table,
    values: options.values,
    admins: resolveAdmins(sorted.open.admins, input, report),
    overruledPasswords: findOverruledPasswords(sorted.open.admins, layers.overruledAdmins),
    deletedAdmins: layers.deletedAdmins,
    open,
    named,
    ignored: [...sorted.ignored, ...options.tooLoose],
    entries: collectEntries(sorted, options),
    rules,
  })
  return { settings, problems: report.problems, warnings: report.warnings }
}

function checkRules(rules: readonly Rule[], all: AllValues, options: Resolution, report: Notices): void {
  for (const rule of rules) {
    // a bad value was reported already
    if (rule.about.some((name) => options.wrong.has(name))) continue
    const { about, kind = 'conflict', check } = rule
    const found = check(all)
    if (!found) continue
    const message = typeof found === 'string' ? found : found.message
    const place = placeOf(typeof found === 'string' ? about.map(toRulePlace) : found.about, options, all)
    if (kind === 'warning') report.warnings.push(renderAt(place, message))
    else report.problems.push({ kind, place, message })
  }
}

function placeOf(about: RuleFinding['about'], { snapshot }: Resolution, { open }: AllValues): string {
  const used: ReadonlyMap<string, Assignment> = snapshot
  const places = about.flatMap(([section, key]) => {
    const { source } =
      used.get(`${section}.${key}`) ??
      (section === 'jwt_keys' ? open.jwt_keys.find((entry) => entry.key === key) : undefined) ??
      {}
    return source ? [renderSource(source)] : []
  })
  return places.join(', ') || about.map((names) => names.join('.')).join(', ')
}

function collectEntries(sorted: Classified, options: Resolution): readonly Assignment[] {
  const last = new Map<string, Assignment>()
  const add = (entry: Assignment) => last.set(joinNames(entry.section, entry.key), entry)
  const { admins: _hidden, ...open } = sorted.open
  for (const entry of [...sorted.ignored, ...sorted.foreign, ...Object.values(open).flat(), ...sorted.named]) add(entry)
  for (const [name, { text, source }] of options.snapshot) {
    const { section, key } = splitName(name)
    add({ section, key, text, source })
  }
  return [...last.values()]
}
