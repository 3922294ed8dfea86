import { isPercentEncodingValid } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { SYSTEM_DATABASE } from '../../directory/grants.ts'
import type { Path, RequestHead } from '../../http/request-context.ts'
import { readPlainSegment } from '../plain-segment.ts'

const VERSION_PREFIX = '_arango'

/** The API versions that the database strips from the front of a path. A path with another one is unknown. */
const STRIPPED_VERSIONS: ReadonlySet<string> = new Set(['v0', 'experimental'])
const OTHER_VERSION = /^v(?:0|[1-9]\d*)$/

/**
 * Accepts only one spelling of each path, so that the database reads the path that was authorised: no empty or dot
 * segments and no encoded slash; a segment that begins with an underscore, which decides whether a credential is needed,
 * must not be encoded. API version and database are removed from the front in the same order as in the database.
 */
export function readMultiModelPath(raw: string): Path {
  const parts = raw.split('/').slice(1)
  if (parts.at(-1) === '') parts.pop()
  const segments = parts.map(readPlainSegment)
  const start = countVersionSegments(raw, parts)
  const hasDatabase = segments[start] === '_db' && segments[start + 1] !== undefined
  const end = hasDatabase ? start + 2 : start
  if (hasDatabase) checkDatabasePart(parts[start + 1] as string, segments[start + 1] as string)
  if (end > 0 && PREFIXES.has(segments[end] ?? '')) throw new Refusal('invalid_target')
  const prefix = end === 0 ? '' : `/${parts.slice(0, end).join('/')}`
  const database = hasDatabase ? (segments[start + 1] as string) : SYSTEM_DATABASE
  return { raw, segments: segments.slice(end), database, prefix }
}

/** Throws if the target of the request is ambiguous. */
export function checkPath(context: RequestHead): undefined {
  if (!isPercentEncodingValid(context.rawQuery)) throw new Refusal('invalid_url_encoding')
  return void context.path
}

/** A second prefix is rejected: a server that strips prefixes repeatedly would read another path. */
const PREFIXES: ReadonlySet<string> = new Set(['_db', VERSION_PREFIX])

/** Compared byte for byte, as in the database. An unknown version stays in the path, which is then not found. */
function countVersionSegments(raw: string, parts: readonly string[]): 0 | 2 {
  if (parts[0] !== VERSION_PREFIX || raw === `/${VERSION_PREFIX}`) return 0
  const version = parts[1] ?? ''
  if (STRIPPED_VERSIONS.has(version)) return 2
  if (OTHER_VERSION.test(version)) return 0
  throw new Refusal('bad_parameter', {
    reason: "invalid API version prefix: expected '/_arango/v0' or '/_arango/experimental'",
  })
}

/** ArangoDB decodes `+` as a blank here and rejects names that are not in NFC: both could address another database. */
function checkDatabasePart(part: string, name: string): void {
  if (part.includes('+') || name !== name.normalize('NFC')) throw new Refusal('invalid_target')
}

/** The path within the database: without API version, database and query, byte for byte. */
export const toLocalPath = ({ raw, prefix = '' }: Path): string => raw.slice(prefix.length) || '/'

/** Whether a path names its database. */
export const namesDatabase = ({ prefix = '' }: Path): boolean => /(?:^|\/)_db\/[^/]+$/.test(prefix)
