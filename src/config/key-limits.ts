// `[jwt_key_limits]`: what tokens may say that a key of `[jwt_keys]` verifies, in words such as
// `names=ada,phone-* roles=editor until=2027-01-31`.
import { readUtcTime } from '../base/clock.ts'
import { attempt } from '../base/errors.ts'
import { findNearest } from '../base/nearest.ts'
import type { OpenEntry } from './options.ts'
import type { Problem } from './problems.ts'
import { renderSource } from './settings.ts'

/** A text, or the beginning of texts. */
interface KeyPattern {
  readonly text: string
  readonly isPrefix: boolean
}

interface KeyLimitsLine {
  /** `undefined`: every name. */
  readonly names: readonly KeyPattern[] | undefined
  readonly roles: readonly KeyPattern[]
  /** From then on the key verifies nothing, in seconds since the epoch; `undefined`: no end. */
  readonly until: number | undefined
}

const EXPECTED =
  'expected names=NAME,PREFIX* (left out: every name), roles=ROLE,PREFIX* (left out: none), until=YYYY-MM-DD or a time such as 2027-01-31T12:00:00Z, each at most once; blank, comma and * in a name as %20, %2C, %2A'

/** The limits by the name of their key. Invalid lines are problems of the configuration. */
export const readKeyLimits = (entries: readonly OpenEntry[]): ReadonlyMap<string, KeyLimitsLine> =>
  new Map(
    entries.flatMap(({ key, text }) => {
      const limits = readLine(text)
      return limits ? [[key, limits] as const] : []
    }),
  )

export const checkKeyLimits = (entries: readonly OpenEntry[]): readonly Problem[] =>
  entries.flatMap(({ key, text, source }) => {
    const why = findLimitProblem(text)
    if (why === undefined) return []
    return [{ kind: 'bad-value', place: renderSource(source), message: `[jwt_key_limits] ${key}: ${why}` }]
  })

/** What is wrong with a line. */
export const findLimitProblem = (text: string): string | undefined => (readLine(text) ? undefined : EXPECTED)

/** That limits have no key. */
export function toStrayProblem({ key, source }: Omit<OpenEntry, 'text'>, names: readonly string[]) {
  const nearest = findOtherKind(key, names) ?? findNearest(key, names, 2)
  return {
    kind: 'bad-value' as const,
    place: renderSource(source),
    message: `[jwt_key_limits] ${key}: there is no such key in [jwt_keys]`,
    ...(nearest !== undefined && { nearest }),
  }
}

/** The key with the id of this name, and another kind. */
export function findOtherKind(name: string, names: readonly string[]): string | undefined {
  const idOf = (each: string) => each.slice(each.indexOf(':') + 1)
  return names.includes(name) ? undefined : names.find((each) => idOf(each) === idOf(name))
}

const WORDS: ReadonlySet<string> = new Set(['names', 'roles', 'until'])

function readLine(text: string): KeyLimitsLine | undefined {
  const words = text.trim().split(/\s+/)
  const given = new Map(words.map((word) => [word.slice(0, Math.max(0, word.indexOf('='))), word]))
  if (given.size !== words.length || ![...given.keys()].every((word) => WORDS.has(word))) return undefined
  const findText = (word: string) => given.get(word)?.slice(word.length + 1)
  const [names, roles] = [readPatterns(findText('names')), readPatterns(findText('roles') ?? '')]
  const until = readTime(findText('until'))
  if (names === null || !roles || Number.isNaN(until)) return undefined
  return { names, roles, until }
}

/** `null`: invalid. */
function readPatterns(list: string | undefined): readonly KeyPattern[] | undefined | null {
  if (list === undefined || list === '') return list === undefined ? undefined : []
  const patterns = list.split(',').map(readPattern)
  return patterns.every((pattern) => pattern !== undefined) ? patterns : null
}

function readPattern(word: string): KeyPattern | undefined {
  const isPrefix = word.endsWith('*')
  const written = isPrefix ? word.slice(0, -1) : word
  const text = written.includes('*') ? undefined : attempt(() => decodeURIComponent(written))
  return text === undefined || (text === '' && !isPrefix) ? undefined : { text, isPrefix }
}

/** Seconds since the epoch; `NaN`: invalid. */
function readTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return readUtcTime(text) ?? Number.NaN
}
