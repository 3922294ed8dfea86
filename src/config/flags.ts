import { isJsonObject } from '../base/json.ts'
import { isBooleanWord } from './codecs.ts'
import { findTarget, type Target } from './compatibility.ts'
import type { OptionTable, Source } from './options.ts'
import type { Problem } from './problems.ts'
import type { Assignment } from './settings.ts'

/** A command line, split into configuration and the rest. */
export interface Flags {
  /** `--config` and `-c`, in order. */
  readonly configs: readonly string[]
  /** `--section.option`, in order. */
  readonly flags: readonly Assignment[]
  /** Everything else, for the command. */
  readonly rest: readonly string[]
  /** Flags without their value. */
  readonly problems: readonly Problem[]
}

const OPTION_FLAG = /^--([^.=]+)\.([^=]+)(?:=(.*))?$/s
/** Also `-cFILE`: short options may have their value attached. */
const CONFIG_FLAG = /^(?:--config(?:=(?<long>.*))?|-c(?:=(?<after>.*)|(?<attached>.+))?)$/s

/** Splits configuration flags from a command line. Words after `--` are never flags. */
export function splitFlags(argv: readonly string[], table: OptionTable): Flags {
  const configs: string[] = []
  const flags: Assignment[] = []
  const rest: string[] = []
  const problems: Problem[] = []
  const words = [...argv]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      rest.push(word, ...words.splice(0))
      break
    }
    const config = CONFIG_FLAG.exec(word)
    const option = OPTION_FLAG.exec(word)
    if (!config && !option) {
      rest.push(word)
      continue
    }
    const name = word.split('=', 1)[0] ?? word
    const [, section = '', key = ''] = option ?? []
    const value = config
      ? (config.groups?.['long'] ?? config.groups?.['after'] ?? config.groups?.['attached'] ?? takeValue(words))
      : (option?.[3] ?? takeFlagValue(findTarget(table, section, key), words))
    if (value === undefined) problems.push({ kind: 'bad-value', place: name, message: 'needs a value' })
    else if (config) configs.push(value)
    else flags.push({ section, key, text: value, source: { kind: 'flag', name } })
  }
  return { configs, flags, rest, problems }
}

const isFlag = (word: string | undefined): boolean => word?.startsWith('--') ?? true

/** The next word, unless it is a flag itself: a value that begins with `--` is written after `=`. */
const takeValue = (words: string[]): string | undefined => (isFlag(words[0]) ? undefined : words.shift())

function takeFlagValue(target: Target, words: string[]): string | undefined {
  if (target.kind === 'unused') return takeUnusedValue(target.isSwitch, words)
  // An unknown flag is reported as such, not for its missing value.
  if (target.kind === 'unknown option' || target.kind === 'unknown section') return takeValue(words) ?? ''
  const isBoolean = 'row' in target && target.kind !== 'named' && target.row.option.codec.isBoolean
  return takeValue(words) ?? (isBoolean ? 'true' : undefined)
}

function takeUnusedValue(isSwitch: boolean, words: string[]): string {
  const isValue = isSwitch ? isBooleanWord(words[0] ?? '') : !isFlag(words[0])
  return isValue ? (words.shift() ?? '') : 'true'
}

/** Prefix of options that a program passes. */
const PROGRAM = 'options.'

/** Options that a program passes, as if they were flags. Throws `TypeError` for a value that cannot be an option. */
export const toFlags = (options: Readonly<Record<string, unknown>>): readonly Assignment[] =>
  Object.entries(options).flatMap(([section, values]) => {
    if (values === undefined) return []
    if (!isJsonObject(values)) throw new TypeError(`${PROGRAM}${section} must be an object: options by their names`)
    return Object.entries(values).flatMap(([key, value]) => toFlag(section, key, value))
  })

function toFlag(section: string, key: string, value: unknown): readonly Assignment[] {
  const name = `${PROGRAM}${section}.${key}`
  if (value === undefined) return []
  if (!WRITTEN.has(typeof value)) throw new TypeError(`${name} must be a text, a number or a boolean`)
  return [{ section, key, text: String(value), source: { kind: 'flag', name } }]
}

const WRITTEN: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

/** Whether a source is a command line, which other users of the machine can read. */
export const isOnCommandLine = (source: Source): boolean => source.kind === 'flag' && !source.name.startsWith(PROGRAM)

/** An option, spelled like the flag it replaces. */
export const renderFlag = (source: Source, section: string, key: string): string =>
  `${isOnCommandLine(source) ? '--' : PROGRAM}${section}.${key}`
