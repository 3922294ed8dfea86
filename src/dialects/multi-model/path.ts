import { decodePercent } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { Path } from '../../door/exchange.ts'

/** The database a path without `/_db/<name>` speaks to. */
export const SYSTEM_DATABASE = '_system'

/**
 * One normal form, so that the path judged is the path sent: no empty or dot segments, no encoded slash, and what
 * begins with an underscore (it decides which paths need a credential) is spelled plainly. Anything else is refused.
 */
export function readMultiModelPath(raw: string): Path {
  const parts = raw.split('/').slice(1)
  if (parts.at(-1) === '') parts.pop()
  const segments = parts.map(readSegment)
  if (segments[0] !== '_db' || segments[1] === undefined) return { raw, segments, scope: SYSTEM_DATABASE }
  if (segments[2] === '_db') throw new Refusal('invalid_target')
  return { raw, segments: segments.slice(2), scope: segments[1] }
}

/** Whether a path can name this, written as clients write it. The text is well-formed. */
export function isAddressable(text: string): boolean {
  return !hasOtherMeaning(text, encodeURIComponent(text))
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined) throw new Refusal('invalid_url_encoding')
  if (hasOtherMeaning(text, part)) throw new Refusal('invalid_target')
  return text
}

const FOREIGN = /[/\\\x00-\x1f\x7f]/

/** Whether another reader could take this for something else: for more segments, for fewer, or for an internal one. */
function hasOtherMeaning(text: string, part: string): boolean {
  const plain = toPlain(text)
  const [name = ''] = plain.split(';', 1)
  const isDotted = name === '' || name === '.' || name === '..'
  const isDisguised = plain.startsWith('_') && plain !== part
  return isDotted || isDisguised || FOREIGN.test(text) || FOREIGN.test(plain) || ENCODED_TWICE.test(text)
}

// Who decodes once more finds one of `. / % ; \ _` or a control character.
const ENCODED_TWICE = /%(?:2[ef5]|3b|5[cf]|[01][0-9a-f]|7f)/i

const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}]/gu
const NOT_PLAIN = /[^\x21-\x7e]/

/** Without what cannot be seen, and with look-alikes as what they look like (a full-width `_`, a leader of two dots). */
const toPlain = (text: string): string =>
  NOT_PLAIN.test(text) ? text.normalize('NFKC').replace(INVISIBLE, '').trim() : text
