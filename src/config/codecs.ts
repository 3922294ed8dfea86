import { isAbsolute, resolve } from 'node:path'

/** How the text of an option becomes a value and back. `print(parse(text))` reads back as the same value. */
export interface Codec<T> {
  /** What a text must be, for help and for "expected …". */
  readonly expects: string
  /** Throws `RangeError('what was expected')`; the text itself never stands in the message. */
  parse(text: string): T
  print(value: T): string
  /** A flag without a value means `true`. */
  readonly isBoolean?: true
  /** A repeated flag adds to the list. */
  readonly isList?: true
  /** Makes what is relative in the text absolute. */
  resolve?(text: string, folder: string): string
  /** Something legal that deserves a sentence at start. */
  warn?(value: T): string | undefined
  /** For secret options whose value is not always one, as a URL that may hold a password. */
  carriesSecret?(text: string): boolean
}

/** Fails with what the codec expects. */
export function refuse(expects: string): never {
  throw new RangeError(expects)
}

const CONTROL = /[\x00-\x1f\x7f]/
const same = (text: string): string => text

/** Any text on one line. */
export const text: Codec<string> = {
  expects: 'text without control characters',
  parse: (value) => (CONTROL.test(value) ? refuse(text.expects) : value),
  print: same,
}

/** The same, with a warning wherever it is given. */
export const deprecated = (codec: Codec<string>, advice: string): Codec<string> => ({
  ...codec,
  warn: (value) => (value === '' ? undefined : advice),
})

/** Text that fits a pattern, or nothing at all. */
export const matching = (expects: string, pattern: RegExp): Codec<string> => ({
  expects,
  parse: (value) => (pattern.test(value) ? value : refuse(expects)),
  print: same,
})

export const secretText = (maxBytes: number): Codec<string> => ({
  expects: `text of at most ${maxBytes} bytes`,
  parse: (value) => (Buffer.byteLength(value) > maxBytes ? refuse(`text of at most ${maxBytes} bytes`) : value),
  print: same,
})

const SHORT_SECRET_CHARACTERS = 16

/** A secret of which clients see what it signs. */
export const signingSecret = (maxBytes: number): Codec<string> => ({
  ...secretText(maxBytes),
  warn: (value) =>
    value !== '' && value.length < SHORT_SECRET_CHARACTERS
      ? `this secret is shorter than ${SHORT_SECRET_CHARACTERS} characters and can be guessed from what it signs`
      : undefined,
})

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'on', '1', 'yes'].map((word) => [word, true] as const),
  ...['false', 'off', '0', 'no'].map((word) => [word, false] as const),
])

export const isBooleanWord = (word: string): boolean => BOOLEANS.has(word)

export const boolean: Codec<boolean> = {
  expects: 'true or false',
  parse: (value) => BOOLEANS.get(value) ?? refuse(boolean.expects),
  print: String,
  isBoolean: true,
}

/** One of a few words, told apart without regard to case; `aliases` maps other spellings to them. */
export function oneOf<const W extends string>(
  words: readonly W[],
  aliases: Readonly<Record<string, W>> = {},
): Codec<W> {
  const known = new Map<string, W>([...Object.entries(aliases), ...words.map((word) => [word, word] as const)])
  const expects = `one of ${words.map((word) => word || 'nothing').join(', ')}`
  return { expects, parse: (value) => known.get(value.toLowerCase()) ?? refuse(expects), print: same }
}

const DECIMAL = /^\+?\d{1,16}$/

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): Codec<number> {
  const expects =
    max === Number.MAX_SAFE_INTEGER ? `a whole number, at least ${min}` : `a whole number from ${min} to ${max}`
  const parse = (value: string) => {
    const number = DECIMAL.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : refuse(expects)
  }
  return { expects, parse, print: String }
}

const FRACTION = /^\+?(?:\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})$/

/** Seconds with a fraction, strictly above `above`; `zero` lets 0 stand for "never". */
export function seconds(above: number, zero: 'zero' | undefined = undefined, most = Infinity): Codec<number> {
  const bound = most === Infinity ? '' : `, at most ${most}`
  const expects = `a number of seconds greater than ${above}${bound}${zero ? ', or 0' : ''}`
  const parse = (value: string) => {
    const number = FRACTION.test(value) ? Number(value) : Number.NaN
    return (number > above && number <= most) || (zero && number === 0) ? number : refuse(expects)
  }
  return { expects, parse, print: String }
}

/** A timer of the runtime counts milliseconds in 31 bits, and takes what is longer for no time at all. */
const MAX_TIMER_SECONDS = 2_147_483

/** Seconds that a timer waits. */
export const timer = (zero: 'zero' | undefined = undefined): Codec<number> => seconds(0, zero, MAX_TIMER_SECONDS)

const SIZE = /^(\d{1,15})([a-z]*)$/
const UNITS: ReadonlyMap<string, number> = new Map(
  ['', 'k', 'm', 'g', 't'].flatMap((prefix, power) => [
    [prefix, 1000 ** power] as const,
    [`${prefix}b`, 1000 ** power] as const,
    [`${prefix}ib`, 1024 ** power] as const,
  ]),
)

/** A number of bytes: `8388608`, `8MiB`, `64k`. */
export function size(min: number, max = Number.MAX_SAFE_INTEGER): Codec<number> {
  const bound = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`
  const expects = `a number of bytes, at least ${min}${bound}; k, M, G count thousands, KiB, MiB, GiB 1024s`
  const parse = (value: string) => {
    const [, digits = '', unit = ''] = SIZE.exec(value.toLowerCase()) ?? []
    const number = Number(digits || Number.NaN) * (UNITS.get(unit) ?? Number.NaN)
    return number >= min && number <= max ? number : refuse(expects)
  }
  return { expects, parse, print: String }
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that mean something to HTTP itself, or to browsers: nothing else can be told in them. */
const OF_HTTP =
  /^(?:accept.*|access-control-.*|authorization|cache-control|connection|content-.*|cookie2?|date|destination|expect|host|if-.*|keep-alive|origin|pragma|proxy-.*|range|referer|sec-.*|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via)$/i

/** A name a header of one's own may have (RFC 9110, section 5.1); `optional` allows none. */
export function headerName(optional: 'optional' | undefined = undefined): Codec<string> {
  const expects = `a header name that is not HTTP's own${optional ? ', or nothing' : ''}`
  const isName = (value: string) => (TOKEN.test(value) && !OF_HTTP.test(value)) || (optional && value === '')
  return { expects, parse: (value) => (isName(value) ? value : refuse(expects)), print: same }
}

/** What may stand in a header's value: visible ASCII and blanks, so that nothing can end the line. */
export const headerValue = matching('visible ASCII characters', /^[\x20-\x7e]*$/)

/** Items between commas, white space around them dropped, as are empty ones. */
export const itemsOf = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** A comma-separated list whose items each pass `read` (which gives the item in normal form, or refuses). */
export const listOf = (expects: string, read: (item: string) => string): Codec<readonly string[]> => ({
  expects,
  parse: (value) => Object.freeze(itemsOf(value).map(read)),
  print: (items) => items.join(', '),
  isList: true,
})

export const words = (expects: string, pattern: RegExp): Codec<readonly string[]> =>
  listOf(expects, (item) => (pattern.test(item) ? item : refuse(expects)))

const HEADER_LIST = 'header names separated by commas'
export const headerNames: Codec<readonly string[]> = listOf(HEADER_LIST, (item) =>
  TOKEN.test(item) ? item.toLowerCase() : refuse(HEADER_LIST),
)

export const methods: Codec<readonly string[]> = words('HTTP methods separated by commas', TOKEN)

/** A file or folder. Relative ones belong to the folder of the file that names them, else to the working directory. */
export const path: Codec<string> = {
  expects: 'a path',
  parse: (value) => (CONTROL.test(value) ? refuse(path.expects) : value),
  print: same,
  resolve: (value, folder) => (value === '' || isAbsolute(value) ? value : resolve(folder, value)),
}
