// Pairs are separated by `;` or `,`, as CouchDB reads them. A value may be quoted, with backslash escapes.
const COOKIE_PAIR = /\s*([^=;,\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;,]*))\s*(?:[;,]|$)/y
const INVALID_PAIR = /[^;,]*[;,]?/y

/**
 * Reads a `Cookie` header. If a name occurs twice, the first counts. Names that begin with `$` are attributes of RFC
 * 2965 and are ignored, like everything that is not a pair.
 */
export function readCookies(header: string): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>()
  let at = 0
  while (at < header.length) {
    const pair = matchAt(COOKIE_PAIR, header, at)
    at += (pair ?? matchAt(INVALID_PAIR, header, at))?.[0].length ?? header.length
    const [, name, quoted, plain = ''] = pair ?? []
    if (name === undefined || name.startsWith('$') || cookies.has(name)) continue
    cookies.set(name, quoted === undefined ? plain.trim() : quoted.replace(/\\(.)/g, '$1'))
  }
  return cookies
}

/**
 * All values of a cookie, read as browsers write the header: at semicolons alone. A value of another host may have commas
 * and quotation marks, and must not pass for a cookie of this one, nor hide it.
 */
export const listCookieValues = (header: string, name: string): readonly string[] =>
  header.split(';').flatMap((part) => {
    const pair = part.replace(BLANKS, '')
    return pair.startsWith(`${name}=`) ? pair.slice(name.length + 1) : []
  })

const BLANKS = /^[ \t]+|[ \t]+$/g

/** The value of a cookie, if it is the only one in the header and not quoted, as most clients of a database send it. */
export const findOnlyCookie = (header: string, name: string): string | undefined =>
  header.startsWith(`${name}=`) && !SPECIAL.test(header) ? header.slice(name.length + 1) : undefined

const SPECIAL = /[;,"\\\s]/

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
