import { decodePercent } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { Path } from '../../http/request-context.ts'

/**
 * The segments between raw slashes, each decoded once to be judged; the bytes themselves are what is forwarded. Empty and
 * dot segments have no one meaning and are refused; a trailing slash is harmless. `%2F` inside the name of a database or
 * the id of a document is legal, as long as a server that decodes it first would not find another path.
 */
export function readDocumentPath(raw: string): Path {
  const segments: string[] = []
  for (let from = 1; from < raw.length; ) {
    const slash = raw.indexOf('/', from)
    const end = slash < 0 ? raw.length : slash
    const segment = readSegment(raw.slice(from, end))
    if (segments.length === 0 && !isPlainDatabase(segment)) throw new Refusal('invalid_target')
    segments.push(segment)
    from = end + 1
  }
  return { raw, segments }
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined || text.includes('\0')) throw new Refusal('invalid_url_encoding')
  if (text === '' || text === '.' || CLIMBS.test(text)) throw new Refusal('invalid_target')
  return text
}

/** `..` between slashes of either kind leads out of the database, for a server that decodes before it takes apart. */
const CLIMBS = /(?:^|[/\\])\.\.(?:[/\\]|$)/

/** The first segment decides about rights. No database has a `\` in its name, or a `/` where a segment would be empty. */
function isPlainDatabase(name: string): boolean {
  if (name.includes('\\')) return false
  return !name.includes('/') || name.split('/').every((part) => part !== '' && part !== '.')
}
