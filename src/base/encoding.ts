const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes to text, or `undefined` where they are not UTF-8. */
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
 * Decodes percent-encoding once. The text is as it came off the wire, one character a byte; what it spells must be
 * UTF-8, else `undefined`.
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
 * Standard base64 to bytes; blanks are skipped, any other foreign character is not. Padding must be right; with
 * `lax` it may also be absent. `undefined` where the text is none of this.
 */
export function readBase64(text: string, padding: 'strict' | 'lax' = 'strict'): Buffer | undefined {
  const compact = text.replace(/[\t\n\r ]/g, '')
  if (!BASE64.test(compact)) return undefined
  return padding === 'strict' && compact.length % 4 !== 0 ? undefined : Buffer.from(compact, 'base64')
}

/** Parts as one text in which each tells its length, so that no two lists of parts read alike. */
export function frame(parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${part.length}:${part}`
  return text
}
