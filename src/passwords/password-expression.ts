import { RE2JS } from 're2js'

/** A regular expression of a linear-time engine, over text of one character a byte. */
export interface PasswordExpression {
  /** Steps a byte can cost at most, roughly. */
  readonly size: number
  /** Whether it matches anywhere. */
  isMatch(bytes: string): boolean
}

interface Condition {
  readonly expression: RE2JS
  readonly isWanted: boolean
}

/** Throws a RangeError that says what the engine does not take, or that the expression is too large. */
export function createPasswordExpression(source: string): PasswordExpression {
  const conditions = splitLookAheads(source).map(compile)
  return {
    size: conditions.reduce((sum, { expression }) => sum + expression.programSize(), 0),
    isMatch: (bytes) => conditions.every(({ expression, isWanted }) => expression.test(bytes) === isWanted),
  }
}

function compile({ source, isWanted }: Part): Condition {
  if (estimateSize(source) > MAX_ESTIMATED_SIZE) throw new RangeError('the expression repeats too much')
  try {
    return { expression: RE2JS.compile(source), isWanted }
  } catch (error) {
    const cause = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'unknown'
    const hint = cause.includes('(?=') || cause.includes('(?!') ? LOOK_AHEAD_HINT : ''
    throw new RangeError(`the expression cannot be used, ${cause}${hint}`)
  }
}

const LOOK_AHEAD_HINT = ' (look-ahead may stand only right after a leading ^: write each demand as its own element)'

const MAX_ESTIMATED_SIZE = 2 ** 18
const MAX_NESTED_REPETITIONS = 1000

/**
 * No less than the instructions it compiles to, known before the engine unfolds the repetitions. The engine itself
 * refuses repetitions that multiply to more than a thousand.
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

// with m, ^ could hold at several places, and the parts would no longer speak of the same one
const LEADING = /^(\(\?[is]+\))?\^(?=\(\?[=!])/

/**
 * `^(?=A)(?!B)C` asks for `^A`, not `^B`, and `^C`: three expressions the engine can take, where it takes no
 * look-ahead. Any other expression stays as it is.
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

// Literal runs, escapes and character classes are single tokens, so that a bracket in them is not taken for a group.
// Each alternative takes what is left where its end is missing, so that nothing is looked through twice.
const TOKEN = /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\[:\w+:\]|\\(?:[\s\S]|$)|[^\]\\])*(?:\]|$)|[\s\S]/g

/** Where the group that opens here closes; -1 where it does not. */
function findGroupEnd(source: string, from: number): number {
  let depth = 0
  for (const { 0: token, index } of source.slice(from).matchAll(TOKEN)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (depth === 0) return from + index
  }
  return -1
}

function hasOuterAlternative(source: string): boolean {
  let depth = 0
  for (const [token] of source.matchAll(TOKEN)) {
    if (token === '|' && depth === 0) return true
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
  }
  return false
}
