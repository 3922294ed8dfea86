import { decodePercent } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { Path } from '../../door/exchange.ts'

/**
 * The segments between raw slashes, each decoded once to be judged; the bytes themselves are what is forwarded. `%2F`
 * inside an id is legal here. Empty and dot segments have no one meaning and are refused; a trailing slash is harmless.
 */
export function readDocumentPath(raw: string): Path {
  const segments: string[] = []
  for (let from = 1; from < raw.length; ) {
    const slash = raw.indexOf('/', from)
    const end = slash < 0 ? raw.length : slash
    segments.push(readSegment(raw.slice(from, end)))
    from = end + 1
  }
  return { raw, segments }
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined || text.includes('\0')) throw new Refusal('invalid_url_encoding')
  if (text === '' || text === '.' || text === '..') throw new Refusal('invalid_target')
  return text
}
