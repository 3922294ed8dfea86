import { isAbsolute, resolve } from 'node:path'

/** Converts the text of an option to a value and back. `parse(print(value))` is the same value. */
export interface Codec<T> {
  /** What is accepted, for help and for "expected …". */
  readonly expects: string
  /** Throws `RangeError('what was expected')`. The message never contains the text. */
  parse(text: string): T
  print(value: T): string
  /** A flag without a value means `true`. */
  readonly isBoolean?: true
  /** The words that are accepted, where there are only a few. */
  readonly words?: readonly string[]
  /** A repeated flag adds to the list. */
  readonly isList?: true
  /** Makes a relative path in the text absolute. */
  resolve?(text: string, folder: string): string
  /** A warning about a valid value. */
  warn?(value: T): string | undefined
  /** For secret options whose value is not always secret, such as a URL that can contain a password. */
  carriesSecret?(text: string): boolean
}

/** Throws what the codec expects. */
export function refuseValue(expects: string): never {
  throw new RangeError(expects)
}

/** The value of a text, or what the codec expects instead. */
export function tryParse<T>(
  { parse }: Codec<T>,
  text: string,
): { readonly value: T; readonly expected?: never } | { readonly expected: string } {
  try {
    return { value: parse(text) }
  } catch (error) {
    if (error instanceof RangeError) return { expected: error.message }
    throw error
  }
}

export const same = (text: string): string => text

/** Text that is a right value. */
export const textThat = (expects: string, isRight: (value: string) => boolean): Codec<string> => ({
  expects,
  parse: (value) => (isRight(value) ? value : refuseValue(expects)),
  print: same,
})

/** Text that matches a pattern. */
export const matching = (expects: string, pattern: RegExp): Codec<string> =>
  textThat(expects, (value) => pattern.test(value))

const ONE_LINE = /^[^\x00-\x1f\x7f]*$/

/** Any text on one line. */
export const oneLine = matching('text without control characters', ONE_LINE)

/** A codec that warns if the option is set. */
export const deprecated = (codec: Codec<string>, advice: string): Codec<string> => ({
  ...codec,
  warn: (value) => (value === '' ? undefined : advice),
})

export const secretText = (maxBytes: number): Codec<string> =>
  textThat(`text of at most ${maxBytes} bytes`, (value) => Buffer.byteLength(value) <= maxBytes)

const SHORT_SECRET_CHARACTERS = 16

/** A secret that signs values which clients see. */
export const signingSecret = (maxBytes: number): Codec<string> => ({
  ...secretText(maxBytes),
  warn: (value) =>
    value !== '' && value.length < SHORT_SECRET_CHARACTERS
      ? `this secret is shorter than ${SHORT_SECRET_CHARACTERS} characters and can be guessed from a signed cookie`
      : undefined,
})

export const TRUE_WORDS: readonly string[] = ['true', 'on', '1', 'yes']
export const FALSE_WORDS: readonly string[] = ['false', 'off', '0', 'no']

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...TRUE_WORDS.map((word) => [word, true] as const),
  ...FALSE_WORDS.map((word) => [word, false] as const),
])

export const isBooleanWord = (word: string): boolean => BOOLEANS.has(word)

export const boolean: Codec<boolean> = {
  expects: 'true or false',
  parse: (value) => BOOLEANS.get(value) ?? refuseValue(boolean.expects),
  print: String,
  isBoolean: true,
}

/** One of a few words, in any case; `aliases` maps other spellings to them. */
export function oneWordOf<const W extends string>(
  words: readonly W[],
  aliases: Readonly<Record<string, W>> = {},
): Codec<W> {
  const known = new Map<string, W>([...Object.entries(aliases), ...words.map((word) => [word, word] as const)])
  const expects = `one of ${words.map((word) => word || 'nothing').join(', ')}`
  return { expects, words, parse: (value) => known.get(value.toLowerCase()) ?? refuseValue(expects), print: same }
}

const DECIMAL = /^\+?\d{1,16}$/

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): Codec<number> {
  const expects =
    max === Number.MAX_SAFE_INTEGER ? `a whole number, at least ${min}` : `a whole number from ${min} to ${max}`
  const parse = (value: string) => {
    const number = DECIMAL.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : refuseValue(expects)
  }
  return { expects, parse, print: String }
}

const FRACTION = /^\+?(?:\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})$/

/** Seconds with a fraction, greater than `above`; with `zero`, 0 is accepted too. */
export function seconds(above: number, zero: 'zero' | undefined = undefined, most = Infinity): Codec<number> {
  const bound = most === Infinity ? '' : `, at most ${most}`
  const expects = `a number of seconds greater than ${above}${bound}${zero ? ', or 0' : ''}`
  const parse = (value: string) => {
    const number = FRACTION.test(value) ? Number(value) : Number.NaN
    return (number > above && number <= most) || (zero && number === 0) ? number : refuseValue(expects)
  }
  return { expects, parse, print: String }
}

/** Node.js counts milliseconds of a timer in 31 bits, and fires longer ones at once. */
const MAX_TIMER_SECONDS = 2_147_483

/** Written as seconds; the value is milliseconds. */
export const inMs = ({ expects, parse, print }: Codec<number>): Codec<number> => ({
  expects,
  parse: (value) => Math.round(parse(value) * SECOND),
  print: (ms) => print(ms / SECOND),
})

/** In milliseconds. */
export const SECOND = 1000

/** Seconds that a timer waits; the value is milliseconds. */
export const timer = (zero: 'zero' | undefined = undefined): Codec<number> => inMs(seconds(0, zero, MAX_TIMER_SECONDS))

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
    return number >= min && number <= max ? number : refuseValue(expects)
  }
  return { expects, parse, print: String }
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers with a meaning in HTTP or for browsers. They cannot carry anything else. */
const OF_HTTP =
  /^(?:accept.*|access-control-.*|authorization|cache-control|connection|content-.*|cookie2?|date|destination|expect|host|if-.*|keep-alive|origin|pragma|proxy-.*|range|referer|sec-.*|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via)$/i

/** The name of a custom header (RFC 9110, section 5.1); with `optional`, it may be empty. */
export function headerName(optional: 'optional' | undefined = undefined): Codec<string> {
  const expects = `a header name that is not a standard HTTP header${optional ? ', or nothing' : ''}`
  const isEmptyRight = optional !== undefined
  return textThat(expects, (value) => (value === '' ? isEmptyRight : TOKEN.test(value) && !OF_HTTP.test(value)))
}

/** A header value: printable ASCII, so that it cannot end the line. */
export const headerValue = matching('visible ASCII characters', /^[\x20-\x7e]*$/)

/** Comma-separated items, trimmed, without empty ones. */
export const itemsOf = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** A comma-separated list. `read` normalises an item or throws. */
export const commaListOf = (expects: string, read: (item: string) => string): Codec<readonly string[]> => ({
  expects,
  parse: (value) => Object.freeze(itemsOf(value).map(read)),
  print: (items) => items.join(', '),
  isList: true,
})

export const words = (expects: string, pattern: RegExp): Codec<readonly string[]> =>
  commaListOf(expects, (item) => (pattern.test(item) ? item : refuseValue(expects)))

export const roles: Codec<readonly string[]> = words('roles separated by commas', /^[^,\p{Cc}]+$/u)

const HEADER_LIST = 'header names separated by commas'
export const headerNames: Codec<readonly string[]> = commaListOf(HEADER_LIST, (item) =>
  TOKEN.test(item) ? item.toLowerCase() : refuseValue(HEADER_LIST),
)

export const methods: Codec<readonly string[]> = words('HTTP methods separated by commas', TOKEN)

/** A file or folder. A relative path is relative to the file that contains it, otherwise to the working directory. */
export const path: Codec<string> = {
  ...matching('a path', ONE_LINE),
  resolve: (value, folder) => (value === '' || isAbsolute(value) ? value : resolve(folder, value)),
}
