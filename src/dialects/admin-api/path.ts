import { decodePercent } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { Path } from '../../http/request-context.ts'

/** The segments between raw slashes, each decoded once: a name may hold `/`, written `%2F`. */
export function readControlPath(raw: string): Path {
  const parts = raw.split('/').slice(1)
  if (parts.at(-1) === '') parts.pop()
  return { raw, segments: parts.map(readSegment) }
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined) throw new Refusal('invalid_url_encoding')
  // Encoded, dots are a name: this path is judged here and goes nowhere else.
  if (text === '' || part === '.' || part === '..') throw new Refusal('invalid_target')
  return text
}
