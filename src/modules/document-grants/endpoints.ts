/**
 * What reads a CouchDB database, by method and path. Everything that is not named here needs `rw`: a path that a later
 * version of CouchDB adds is refused to read-only clients until it has a row.
 */
import { createRouter } from '../../http/dispatch.ts'

/** What a request needs on its database. */
export interface Need {
  readonly level: 'ro' | 'rw'
  /** How large the body of a request may be that a read-only client sends. */
  readonly maxBodyBytes?: number
  /** The design document chooses the target, which may be in any database. */
  readonly isRewrite?: true
}

const READ: Need = Object.freeze({ level: 'ro' })
const WRITE: Need = Object.freeze({ level: 'rw' })
const REWRITE: Need = Object.freeze({ level: 'rw', isRewrite: true })
/** The client of a pull replication keeps in `_local` how far it came. */
const CHECKPOINT: Need = Object.freeze({ level: 'ro', maxBodyBytes: 64 * 1024 })
/** Ids that replicators make: a hash in hexadecimal (CouchDB), or MD5 in base64 with `.` and `_` (PouchDB). */
const CHECKPOINT_ID = /^(?:[0-9a-f]{32,64}|[\w.]{22}==)$/

/** By method. */
type Needs = ReadonlyMap<string, Need>

const reading = (...methods: readonly string[]): Needs => new Map(methods.map((method) => [method, READ]))
const GET = reading('GET', 'HEAD')
const POST = reading('POST')
const QUERY = reading('GET', 'HEAD', 'POST')

/** Below `_design/{design}`. Not `_update`, which CouchDB runs with every method, nor `_rewrite`. */
const DESIGN_FUNCTIONS: Readonly<Record<string, Needs>> = {
  _info: GET,
  '_view/{view}': QUERY,
  '_view/{view}/queries': POST,
  '_show/{show}/{...}': QUERY,
  '_list/{list}/{...}': QUERY,
  '_search/{index}': QUERY,
  '_search_info/{index}': GET,
  '_search_disk_size/{index}': GET,
  '_nouveau/{index}': QUERY,
  '_nouveau_info/{index}': GET,
}

const below = (path: string, rows: Readonly<Record<string, Needs>>): Readonly<Record<string, Needs>> =>
  Object.fromEntries(Object.entries(rows).map(([end, needs]) => [`${path}/${end}`, needs]))

/** Below a database, and below one of its partitions. */
const QUERIES: Readonly<Record<string, Needs>> = {
  _all_docs: QUERY,
  '_all_docs/queries': POST,
  _find: POST,
  _explain: POST,
  ...below('_design/{design}', DESIGN_FUNCTIONS),
}

export const READING_ENDPOINTS: Readonly<Record<string, Needs>> = {
  '/_all_dbs': GET,
  '/_dbs_info': QUERY,
  '/{db}': GET,
  ...below('/{db}', QUERIES),
  ...below('/{db}/_partition/{partition}', QUERIES),
  '/{db}/_partition/{partition}': GET,
  '/{db}/_bulk_get': POST,
  '/{db}/_changes': QUERY,
  '/{db}/_design_docs': QUERY,
  '/{db}/_design_docs/queries': POST,
  '/{db}/_local_docs': QUERY,
  '/{db}/_local_docs/queries': POST,
  '/{db}/_revs_diff': POST,
  '/{db}/_missing_revs': POST,
  '/{db}/_index': GET,
  '/{db}/_security': GET,
  '/{db}/_revs_limit': GET,
  '/{db}/_shards': GET,
  '/{db}/_shards/{id}': GET,
  '/{db}/_ensure_full_commit': POST,
  '/{db}/_local/{id}': new Map([...GET, ['PUT', CHECKPOINT]]),
  // documents and attachments
  '/{db}/_design/{design}/{...}': GET,
  '/{db}/{id}/{...}': GET,
}

const findRow = createRouter(Object.entries(READING_ENDPOINTS).map(([path, right]) => ({ path, right })))

/** What a request needs on the database that its first segment names. The segments are decoded once, as CouchDB does. */
export function findNeed(method: string, segments: readonly string[]): Need {
  const isSplit = segments.some((segment, index) => index > 0 && segment.includes('/'))
  if (!isSplit) return needOf(method, segments)
  // `%2F` is part of a segment for CouchDB; a server that splits after it decodes must need no more
  const [database = '', ...rest] = segments
  const needs = [needOf(method, segments), needOf(method, [database, ...rest.join('/').split('/')])]
  if (needs.includes(REWRITE)) return REWRITE
  return needs.every((need) => need === READ) ? READ : WRITE
}

function needOf(method: string, segments: readonly string[]): Need {
  if (segments.includes('_rewrite', 1)) return REWRITE
  const match = isSystemPath(segments) ? undefined : findRow(segments)
  if (!match || isUnnamed(match.route.path, segments)) return WRITE
  // every row above is one of `Needs`
  const need = (match.route.right as Needs).get(method) ?? WRITE
  // applications keep other documents in `_local`
  return need === CHECKPOINT && !CHECKPOINT_ID.test(match.params['id'] ?? '') ? WRITE : need
}

const SYSTEM_DATABASES: ReadonlySet<string> = new Set(['_users', '_replicator', '_global_changes'])
export const LISTS: ReadonlySet<string> = new Set(['_all_dbs', '_dbs_info'])

const isSystemPath = ([first = '']: readonly string[]): boolean =>
  first.startsWith('_') && !SYSTEM_DATABASES.has(first) && !LISTS.has(first)

/** The segment that is the id of a document, or the first of the name of an attachment. */
const FREE_SEGMENTS: ReadonlyMap<string, number> = new Map([
  ['/{db}/{id}/{...}', 1],
  ['/{db}/_design/{design}/{...}', 3],
])

/** Whether the row is one of documents and the path a function of CouchDB that has no row. */
function isUnnamed(path: string, segments: readonly string[]): boolean {
  const at = FREE_SEGMENTS.get(path)
  const segment = at === undefined ? '' : (segments[at] ?? '')
  return segment.startsWith('_') && !DOCUMENT_IDS.test(segment)
}

/** CouchDB reads `_design%2Fname` as `_design/name`. */
const DOCUMENT_IDS = /^_(?:design|local)\//

/** CouchDB runs the jobs in these databases itself, and those of `_replicate`: past every check of this door. */
export const runsJobs = ([first = '']: readonly string[]): boolean =>
  first === '_replicate' || first === '_replicator' || first.endsWith('/_replicator')
