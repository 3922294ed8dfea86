import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Loaded with the first expression: few configurations have one, and the engine is 260 kB of source. */
const loadEngine = (): typeof import('re2js') => require('re2js')

/** A regular expression of a linear-time engine. Texts have one character per byte. */
export interface PasswordExpression {
  /** About the maximum number of steps per byte. */
  readonly size: number
  /** Whether it matches anywhere. */
  isMatch(bytes: string): boolean
}

/** Throws a RangeError if the engine does not support the expression, or if it is too large. */
export function createPasswordExpression(source: string): PasswordExpression {
  const conditions = splitLookAheads(source).map(compile)
  return {
    size: conditions.reduce((sum, { expression }) => sum + expression.programSize(), 0),
    isMatch: (bytes) => conditions.every(({ expression, isWanted }) => expression.test(bytes) === isWanted),
  }
}

function compile({ source, isWanted }: Part) {
  if (estimateSize(source) > MAX_ESTIMATED_SIZE) throw new RangeError('the expression repeats too much')
  try {
    return { expression: loadEngine().RE2JS.compile(source), isWanted }
  } catch (error) {
    const cause = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'unknown'
    const hint = cause.includes('(?=') || cause.includes('(?!') ? LOOK_AHEAD_HINT : ''
    throw new RangeError(`the expression cannot be used, ${cause}${hint}`)
  }
}

const LOOK_AHEAD_HINT =
  ' (look-ahead is supported only right after a leading ^: write each condition as its own element)'

const MAX_ESTIMATED_SIZE = 2 ** 18
const MAX_NESTED_REPETITIONS = 1000

/**
 * An upper bound of the instructions it compiles to, computed before the engine expands the repetitions. The engine
 * rejects repetitions that multiply to more than a thousand.
 */
function estimateSize(source: string): number {
  let repetitions = 1
  for (const [, least, most] of source.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    repetitions = Math.min(repetitions * Math.max(Number(least), Number(most ?? 0), 1), MAX_NESTED_REPETITIONS)
  }
  return source.length * repetitions
}

interface Part {
  readonly source: string
  readonly isWanted: boolean
}

// not with the flag m: ^ would match at several positions, and the parts could match at different ones
const LEADING = /^(\(\?[is]+\))?\^(?=\(\?[=!])/

/**
 * The engine has no look-ahead. `^(?=A)(?!B)C` means `^A`, not `^B`, and `^C`: three expressions that it supports. Any
 * other expression is returned unchanged.
 */
function splitLookAheads(source: string): readonly Part[] {
  const leading = LEADING.exec(source)
  const whole = [{ source, isWanted: true }]
  if (!leading) return whole
  const flags = leading[1] ?? ''
  const parts: Part[] = []
  let at = leading[0].length
  for (;;) {
    const kind = LOOK_AHEADS.get(source.slice(at, at + 3))
    const end = kind === undefined ? -1 : findGroupEnd(source, at)
    if (kind === undefined || end < 0) break
    parts.push({ source: `${flags}^(?:${source.slice(at + 3, end)})`, isWanted: kind })
    at = end + 1
  }
  const rest = source.slice(at)
  if (hasOuterAlternative(rest)) return whole
  return [...parts, { source: `${flags}^(?:${rest})`, isWanted: true }]
}

const LOOK_AHEADS: ReadonlyMap<string, boolean> = new Map([
  ['(?=', true],
  ['(?!', false],
])

// Quoted text, escapes and character classes are single tokens, so that a bracket in them does not count as a group.
// An alternative without its end matches up to the end of the text, so that no part is scanned twice.
const TOKEN = /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\[:\w+:\]|\\(?:[\s\S]|$)|[^\]\\])*(?:\]|$)|[\s\S]/g

/** Each token, and how many groups are open after it. */
function* walk(source: string) {
  let depth = 0
  for (const { 0: token, index } of source.matchAll(TOKEN)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    yield { token, index, depth }
  }
}

/** The position where the group that opens here closes; -1 if it does not. */
function findGroupEnd(source: string, from: number): number {
  for (const { index, depth } of walk(source.slice(from))) if (depth === 0) return from + index
  return -1
}

const hasOuterAlternative = (source: string): boolean =>
  walk(source).some(({ token, depth }) => token === '|' && depth === 0)
