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

const FOREIGN = /[/\\\x00-\x1f\x7f]/

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined) throw new Refusal('invalid_url_encoding')
  const isDotted = text === '' || text === '.' || text === '..'
  const isDisguised = text.startsWith('_') && text !== part
  if (isDotted || isDisguised || FOREIGN.test(text)) throw new Refusal('invalid_target')
  return text
}
