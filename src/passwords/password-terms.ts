/** An expression, and the reason shown when a password does not match it, which may be empty. One character per byte. */
export interface RuleTerm {
  readonly expression: string
  readonly reason: string
  /** Offset of the element, in bytes. */
  readonly at: number
}

export class TermProblem extends Error {
  override readonly name = 'TermProblem'
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/**
 * Reads the Erlang list of `password_regexp`: `"expression"`, `{"expression"}`, `{"expression", "reason"}`. The text
 * has one character per byte, as CouchDB sees it. An empty text, `""` and `[]` are the empty list.
 * Throws a TermProblem.
 */
export function readRuleTerms(text: string): readonly RuleTerm[] {
  const cursor = new Cursor(text)
  const terms = cursor.isAtEnd() ? [] : readList(cursor)
  if (!cursor.isAtEnd()) throw cursor.problem('nothing may follow the list')
  return terms
}

function readList(cursor: Cursor): readonly RuleTerm[] {
  // quirk: reference document 8.7, in Erlang the empty string is the empty list
  if (cursor.peek() === '"') {
    const problem = cursor.problem('expected a list in [ ]')
    if (readString(cursor) !== '') throw problem
    return []
  }
  if (!cursor.take('[')) throw cursor.problem('expected a list in [ ]')
  if (cursor.take(']')) return []
  const terms = [readTerm(cursor)]
  while (cursor.take(',')) terms.push(readTerm(cursor))
  if (!cursor.take(']')) throw cursor.problem('expected , or ] after an element')
  return terms
}

function readTerm(cursor: Cursor): RuleTerm {
  cursor.peek()
  const { at } = cursor
  if (!cursor.take('{')) return { expression: readString(cursor), reason: '', at }
  const expression = readString(cursor)
  const reason = cursor.take(',') ? readString(cursor) : ''
  if (!cursor.take('}')) throw cursor.problem('expected }')
  return { expression, reason, at }
}

/** Adjacent strings are one string, as in Erlang. */
function readString(cursor: Cursor): string {
  if (cursor.peek() !== '"') throw cursor.problem('expected a string in double quotes')
  let value = ''
  while (cursor.take('"')) value += readRestOfString(cursor)
  return value
}

function readRestOfString(cursor: Cursor): string {
  const start = cursor.at - 1
  let value = ''
  for (;;) {
    const plain = cursor.match(PLAIN)
    const escaped = plain ? undefined : cursor.match(ESCAPE)
    if (plain) value += plain[0]
    else if (escaped) value += readEscape(escaped, cursor)
    else break
  }
  if (cursor.match(QUOTE)) return value
  if (cursor.match(BACKSLASH)) throw cursor.problem('this is no escape sequence')
  throw new TermProblem(start, 'this string has no end')
}

const PLAIN = /[^"\\]+/y
const QUOTE = /"/y
const BACKSLASH = /\\/y
const ESCAPE = /\\(?:([0-7]{1,3})|x\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|\^([@-_a-z])|([^x^]))/y

const NAMED_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['d', '\x7f'],
  ['e', '\x1b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['s', ' '],
  ['t', '\t'],
  ['v', '\v'],
])

function readEscape(escaped: RegExpExecArray, cursor: Cursor): string {
  const [, octal, braced, hexadecimal, control, other] = escaped
  if (other !== undefined) return NAMED_ESCAPES.get(other) ?? other
  if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f)
  const code = octal === undefined ? Number.parseInt(braced ?? hexadecimal ?? '', 16) : Number.parseInt(octal, 8)
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw cursor.problem('there is no such character')
  // up to 255 the escape is that byte; a larger one can only mean the bytes of the character
  return code <= 0xff ? String.fromCharCode(code) : Buffer.from(String.fromCodePoint(code)).toString('latin1')
}

const BLANKS = /(?:[\x00-\x20]+|%[^\n]*)*/y

class Cursor {
  at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** The next character after white space and comments; `''` at the end. */
  peek(): string {
    this.match(BLANKS)
    return this.#text.charAt(this.at)
  }

  isAtEnd(): boolean {
    return this.peek() === ''
  }

  /** Consumes the character if it comes next, after white space and comments. */
  take(character: string): boolean {
    const isNext = this.peek() === character
    if (isNext) this.at += 1
    return isNext
  }

  /** Consumes what the sticky pattern matches at this position. */
  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)
    this.at += found?.[0].length ?? 0
    return found
  }

  problem(message: string): TermProblem {
    return new TermProblem(this.at, message)
  }
}
