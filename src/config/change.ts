import { findFixedReason } from './classify.ts'
import { tryParse } from './codecs.ts'
import { findTarget, type Target } from './compatibility.ts'
import { findLimitProblem, findOtherKind, toStrayProblem } from './key-limits.ts'
import { checkKeyName } from './open-sections.ts'
import { type AllValues, MASK, type OptionRow, type OptionTable, withValue } from './options.ts'
import { describeMismatch, findNearestOption, findNearestSection } from './problems.ts'
import { isFileReference } from './secrets.ts'
import { type Assignment, renderSource, type Settings } from './settings.ts'

/** Why a setting cannot be changed at run time. */
export interface ChangeProblem {
  readonly kind:
    | 'invalid-section'
    | 'invalid-key'
    | 'invalid-value'
    | 'unknown-option'
    | 'bad-value'
    | 'conflict'
    | 'masked'
    | 'pinned'
    | 'not-settable'
  /** What is wrong. Contains no secret. */
  readonly message: string
  readonly nearest?: string
}

const BAD_NAME = /[\x00-\x08\x0a-\x1f\x7f[\]]/
/** The limit for values that a command reads from standard input. */
const MAX_VALUE_BYTES = 65_536
const BAD_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/

/**
 * Checks whether `[section] key` can be set to `text` at run time, or deleted if `text` is `undefined`. An unknown section
 * accepts any key, because it has no effect, unless its name is similar to a section that has.
 */
export function checkChange(
  settings: Settings,
  section: string,
  key: string,
  text: string | undefined,
): ChangeProblem | undefined {
  const { table } = settings
  const target = findTarget(table, section, key)
  return (
    checkForm(section, key, text) ??
    checkReach(target, findNearestOption(table, section, key), { section, key }) ??
    (text === undefined ? undefined : checkNearMiss(table, section)) ??
    checkPin(settings, target, key) ??
    (text === undefined ? undefined : checkText(settings, target, { section, key, text }))
  )
}

// quirk: the order of checks and the messages are those of CouchDB.
function checkForm(section: string, key: string, text: string | undefined): ChangeProblem | undefined {
  if (section === '' || BAD_NAME.test(section))
    return { kind: 'invalid-section', message: 'Invalid configuration section' }
  if (key === '' || BAD_NAME.test(key)) return { kind: 'invalid-key', message: 'Invalid configuration key' }
  if (text === undefined) return undefined
  if (BAD_VALUE.test(text)) return { kind: 'invalid-value', message: 'Invalid configuration value' }
  return Buffer.byteLength(text) > MAX_VALUE_BYTES
    ? { kind: 'invalid-value', message: `A value must not be longer than ${MAX_VALUE_BYTES} bytes` }
    : undefined
}

type Place = Pick<Assignment, 'section' | 'key'>

function checkReach(target: Target, near: Place | undefined, { section, key }: Place): ChangeProblem | undefined {
  const fixed = findFixedReason(target, key)
  if (fixed !== undefined) {
    const message = `[${section}] ${key} cannot be changed at run time, because ${fixed}. ${whereToSet(target)}`
    return { kind: 'not-settable', message }
  }
  if (target.kind !== 'unknown option') return undefined
  const nearest = near && (near.section === section ? near.key : `[${near.section}] ${near.key}`)
  return { kind: 'unknown-option', message: `unknown option [${section}] ${key}`, ...(nearest && { nearest }) }
}

function whereToSet(target: Target): string {
  const isLive = (target.kind === 'option' || target.kind === 'fallback') && target.row.option.reload === 'live'
  return `Set it in a file, a variable or a flag; it takes effect ${isLive ? 'on reload' : 'at the next start'}.`
}

/** A setting in a misspelt section would have no effect. Deleting one that an earlier version accepted stays possible. */
function checkNearMiss(table: OptionTable, section: string): ChangeProblem | undefined {
  const nearest = findNearestSection(table, section)
  if (nearest === undefined) return undefined
  return { kind: 'unknown-option', message: `unknown section [${section}]`, nearest: `[${nearest}]` }
}

/**
 * Environment and flags have precedence over run-time settings. Administrators given there can still be changed, until
 * another password is given.
 */
function checkPin(settings: Settings, target: Target, key: string): ChangeProblem | undefined {
  const source = findSource(settings, target, key)
  if (source?.kind !== 'environment' && source?.kind !== 'flag') return undefined
  return { kind: 'pinned', message: `${renderSource(source)} sets this and has precedence over run-time settings` }
}

function findSource(settings: Settings, target: Target, key: string): Settings['admins'][number]['source'] | undefined {
  if (target.kind === 'option') return settings.find(target.row.section, target.row.key)?.source
  return target.kind === 'open' && target.section !== 'admins' ? settings.find(target.section, key)?.source : undefined
}

type Change = Omit<Assignment, 'source'>

function checkText(settings: Settings, target: Target, change: Change): ChangeProblem | undefined {
  if (target.kind === 'open' && target.section === 'jwt_key_limits') return checkLimits(settings, change)
  if (target.kind === 'open') return target.section === 'jwt_keys' ? checkKey(settings, change) : undefined
  if (target.kind !== 'option' && target.kind !== 'fallback') return undefined
  const { row } = target
  if (row.option.secret) {
    const problem = checkSecret(change.text)
    if (problem) return problem
  }
  const { section, key, text } = change
  const read = tryParse(row.option.codec, text)
  if ('value' in read)
    return checkRules(settings, { values: withValue(settings.values, row, read.value), open: settings.open }, row)
  return { kind: 'bad-value', message: `[${section}] ${key}: ${describeMismatch(row.option, text, read.expected)}` }
}

/** The mask is not the secret, and no file can be named at run time. */
function checkSecret(text: string): ChangeProblem | undefined {
  if (text === MASK)
    return { kind: 'masked', message: `${MASK} is the mask of a hidden secret; send the secret itself` }
  return isFileReference(text)
    ? { kind: 'bad-value', message: 'a file cannot be named at run time; send the secret itself' }
    : undefined
}

function checkName(change: Change): ChangeProblem | undefined {
  const found = checkKeyName({ ...change, source: { kind: 'run time' } })
  return found && { kind: 'unknown-option', message: found.message, ...(found.nearest && { nearest: found.nearest }) }
}

function checkLimits({ open }: Settings, change: Change): ChangeProblem | undefined {
  const names = open.jwt_keys.map(({ key }) => key)
  const hasSets = names.some((name) => name.startsWith('jwks:'))
  // limits may come before their key, but not those of a key that has another kind
  if (!hasSets && findOtherKind(change.key, names) !== undefined)
    return toStrayProblem({ key: change.key, source: { kind: 'run time' } }, names)
  const problem = findLimitProblem(change.text)
  const message = `[${change.section}] ${change.key}: ${problem}`
  return checkName(change) ?? (problem === undefined ? undefined : { kind: 'bad-value', message })
}

function checkKey(settings: Settings, change: Change): ChangeProblem | undefined {
  const { key, text } = change
  const source = { kind: 'run time' } as const
  const misnamed = checkName(change)
  if (misnamed) return misnamed
  const others = settings.open.jwt_keys.filter((entry) => entry.key !== key)
  const open = { ...settings.open, jwt_keys: [...others, { key, text, source }] }
  return checkSecret(text) ?? checkRules(settings, { values: settings.values, open }, undefined)
}

/** Checks the rules about this option; for a key, those about secrets. */
function checkRules({ rules }: Settings, all: AllValues, row: OptionRow | undefined): ChangeProblem | undefined {
  const name = row?.name ?? 'chttpd_auth.secret'
  for (const { about, kind = 'conflict', check } of rules) {
    const found = kind !== 'warning' && about.includes(name) ? check(all) : undefined
    if (found && kind !== 'warning') return { kind, message: typeof found === 'string' ? found : found.message }
  }
  return undefined
}
