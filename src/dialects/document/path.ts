import { decodePercent } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { Path } from '../../http/request-context.ts'

/**
 * Splits a path at its slashes and decodes each segment once. Checks use the decoded segments; the raw bytes are
 * forwarded. Empty and dot segments are rejected because servers disagree about them; a trailing slash is allowed.
 * `%2F` is legal inside the name of a database or the id of a document, unless a server that decodes before it splits
 * would find another path.
 */
export function readDocumentPath(raw: string): Path {
  const segments: string[] = []
  for (let from = 1; from < raw.length; ) {
    const slash = raw.indexOf('/', from)
    const end = slash < 0 ? raw.length : slash
    const segment = readSegment(raw.slice(from, end))
    if (segments.length === 0 && !isUnambiguousFirst(segment)) throw new Refusal('invalid_target')
    segments.push(segment)
    from = end + 1
  }
  return { raw, segments }
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined || text.includes('\0')) throw new Refusal('invalid_url_encoding')
  if (text === '' || text === '.' || PARENT_SEGMENT.test(text)) throw new Refusal('invalid_target')
  return text
}

/** `..` between slashes of either kind: it leads out of the database on a server that decodes before it splits. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/

/** The first segment decides about access. It must not split into empty or dot segments, and contains no `\`. */
function isUnambiguousFirst(name: string): boolean {
  if (name.includes('\\')) return false
  return !name.includes('/') || name.split('/').every((part) => part !== '' && part !== '.')
}
