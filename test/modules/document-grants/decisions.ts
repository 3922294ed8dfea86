/**
 * What Cardea must decide about every endpoint, method and level of grants: written from the list of CouchDB's
 * endpoints and the rules in words, not from the code that decides.
 */
import { readDocumentPath } from '../../../src/dialects/document/steps.ts'
import { ENDPOINTS } from './couchdb-endpoints.ts'

export interface DecisionRow {
  /** The same for all spellings of a request. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** It only reads the database. */
  readonly isRead: boolean
  readonly isRewrite: boolean
  /** Only administrators of the server may. */
  readonly isForAdmins: boolean
}

export type Level = 'none' | 'ro' | 'rw'

const SENT = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'COPY', 'PATCH']
const JSON_TYPE = { 'Content-Type': 'application/json' }
const PARTS = { 'Content-Type': 'multipart/related;boundary=x' }

/** Other spellings of a request, which must not change what is decided. */
const VARIANTS: readonly ((path: string) => Pick<DecisionRow, 'path' | 'headers' | 'body'>)[] = [
  (path) => ({ path, headers: JSON_TYPE, body: '{}' }),
  (path) => ({ path: path.replaceAll('_', '%5F').replaceAll('p', '%70'), headers: JSON_TYPE, body: '{}' }),
  (path) => ({ path: `${path}?new_edits=false&batch=ok&rev=1-a`, headers: JSON_TYPE, body: '{}' }),
  (path) => ({ path, headers: { ...JSON_TYPE, Destination: 'other', 'X-Couch-Full-Commit': 'true' }, body: '{}' }),
]
/** A checkpoint of a read-only client is JSON, so this is only for requests that write, or read without a body. */
const IN_PARTS = (path: string) => ({ path, headers: PARTS, body: '--x--' })

const firstOf = (path: string): string => readDocumentPath(path).segments[0] ?? ''

/** All requests below a database, in all spellings. */
export const DECISIONS: readonly DecisionRow[] = ENDPOINTS.flatMap(([reads, paths]) =>
  paths
    .split(' ')
    .filter((path) => path !== '/' && !firstOf(path).startsWith('_'))
    .flatMap((path) =>
      SENT.flatMap((method) => {
        const isRead = reads.split(' ').includes(method)
        const isDatabase = readDocumentPath(path).segments.length === 1
        const common = {
          name: `${method} ${path}`,
          method,
          isRead,
          isRewrite: path.includes('_rewrite'),
          isForAdmins: isDatabase && (method === 'PUT' || method === 'DELETE'),
        }
        const variants = isRead ? VARIANTS : [...VARIANTS, IN_PARTS]
        return variants.map((vary) => ({ ...common, ...vary(path) }))
      }),
    ),
)

/** Each request in one of its spellings, in turn: in all of them they take a minute of a processor. */
export const takeTurns = (turn: number): readonly DecisionRow[] => {
  const requests = Object.values(Object.groupBy(DECISIONS, ({ name }) => name)).flatMap((each) => (each ? [each] : []))
  return requests.flatMap((spellings, index) => spellings[(index + turn) % spellings.length] ?? [])
}

/** Paths of the server itself. */
export const SERVER_PATHS: readonly string[] = ENDPOINTS.flatMap(([, paths]) =>
  paths.split(' ').filter((path) => firstOf(path).startsWith('_') && !/^\/_(?:all_dbs|dbs_info)/.test(path)),
)

/** The status with which Cardea refuses; `undefined`: it forwards the request. */
export function decide(level: Level, { isForAdmins, isRead, isRewrite }: DecisionRow): number | undefined {
  if (isForAdmins) return 401
  if (level === 'none') return 404
  if (level === 'ro') return isRead ? undefined : 403
  // the user has `rw` on these databases only, and a rewrite may lead to others
  return isRewrite ? 403 : undefined
}
