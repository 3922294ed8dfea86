import { createHash } from 'node:crypto'

/** Lower-case hexadecimal digest of the parts, one after the other. */
export function digestHex(algorithm: string, ...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash(algorithm)
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8. Returns `undefined` if the bytes are not valid. */
export function readUtf8(bytes: Uint8Array): string | undefined {
  try {
    return STRICT_UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

const BAD_PERCENT = /%(?![0-9A-Fa-f]{2})/

/** Whether every `%` is followed by two hexadecimal digits. */
export const isPercentEncodingValid = (text: string): boolean => !BAD_PERCENT.test(text)

/**
 * Decodes percent-encoding once. The text is as Node gives it, with one character per byte. Returns `undefined` if the
 * encoding is invalid or the decoded bytes are not UTF-8.
 */
export function decodePercent(text: string): string | undefined {
  if (!NEEDS_DECODING.test(text)) return text
  if (!isPercentEncodingValid(text)) return undefined
  const bytes = Buffer.from(text, 'latin1')
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i += 1) {
    if (bytes[i] === 0x25) {
      out[length++] = Number.parseInt(text.slice(i + 1, i + 3), 16)
      i += 2
    } else out[length++] = bytes[i] as number
  }
  return readUtf8(out.subarray(0, length))
}

const NEEDS_DECODING = /[%\x80-\xff]/

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

/**
 * Decodes standard base64. White space is skipped. Padding is required; with `lax` it may be absent. Returns `undefined`
 * if the text is not valid.
 */
export function readBase64(text: string, padding: 'strict' | 'lax' = 'strict'): Buffer | undefined {
  const compact = text.replace(/[\t\n\r ]/g, '')
  if (!BASE64.test(compact)) return undefined
  return padding === 'strict' && compact.length % 4 !== 0 ? undefined : Buffer.from(compact, 'base64')
}

/** Joins parts, each with its length in front, so that different lists never give the same text. */
export function frame(parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${part.length}:${part}`
  return text
}

/**
 * Decodes base64url in canonical form only: no padding, no other characters, no stray bits at the end. So a token that
 * is cached or revoked by its text has no second spelling.
 */
export function readBase64Url(text: string): Buffer | undefined {
  // Node's decoder is lenient, its encoder is not
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

export const toBase64Url = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** The order of both stores: by the bytes of UTF-8. */
export const compareBytes = (one: string, two: string): number => Buffer.compare(Buffer.from(one), Buffer.from(two))
