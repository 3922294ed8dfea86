// Segments of a path that every server reads in the same way.
import { decodePercent } from '../base/encoding.ts'
import { Refusal } from '../base/errors.ts'

/** The decoded segment. Throws if another server could read it as several, as none, or as one with an underscore. */
export function readPlainSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined) throw new Refusal('invalid_url_encoding')
  if (hasOtherMeaning(text, part)) throw new Refusal('invalid_target')
  return text
}

/** Whether a path can contain this name as a segment, encoded the way clients encode it. The text is well-formed. */
export const isAddressable = (text: string): boolean => !hasOtherMeaning(text, encodeURIComponent(text))

const FOREIGN = /[/\\\x00-\x1f\x7f]/

function hasOtherMeaning(text: string, part: string): boolean {
  const plain = toPlain(text)
  const [name = ''] = plain.split(';', 1)
  const isDotted = name === '' || name === '.' || name === '..'
  const isDisguised = plain.startsWith('_') && plain !== part
  return isDotted || isDisguised || FOREIGN.test(text) || FOREIGN.test(plain) || ENCODED_TWICE.test(text)
}

// Decoded a second time, it would contain one of `. / % ; \ _` or a control character.
const ENCODED_TWICE = /%(?:2[ef5]|3b|5[cf]|[01][0-9a-f]|7f)/i

const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}]/gu
const NOT_PLAIN = /[^\x21-\x7e]/

/** Without invisible characters, and with look-alikes replaced (a full-width `_`, a two-dot leader). */
const toPlain = (text: string): string =>
  NOT_PLAIN.test(text) ? text.normalize('NFKC').replace(INVISIBLE, '').trim() : text
