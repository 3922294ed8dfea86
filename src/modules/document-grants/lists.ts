// `_all_dbs` and `_dbs_info` for users whose grants are enforced: what they may read, and nothing else.
import { attempt, badRequest, Refusal } from '../../base/errors.ts'
import { JobQueue } from '../../base/job-queue.ts'
import { isJsonObject } from '../../base/json.ts'
import { requireBody, requireJsonObject, requireJsonType, toDocumentReply } from '../../dialects/document/body.ts'
import { CARDEA, type Identity } from '../../directory/identity.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import type { AskedDatabase, DocumentDoorCore } from '../module.ts'
import { findDocumentLevel } from './access.ts'
import { runsJobs } from './endpoints.ts'

const MAX_BYTES = 16 * 1024 * 1024

/** A list is large, and CouchDB sends all of it. So few are read at once, for one user after the other. */
export const createListQueue = () => new JobQueue({ jobs: 4, queue: () => 200 })

/** The reply to a request for a list; `undefined`: no grants decide what is in it. */
export function findList(
  context: RequestContext,
  identity: Identity,
  { database, settings: getSettings }: DocumentDoorCore,
  queue: JobQueue,
): Promise<Reply> | undefined {
  const { method, path } = context
  const [list = ''] = path.segments
  if (!database.isSet()) return undefined
  const settings = getSettings()
  if (findDocumentLevel(identity, '', settings) === undefined) return undefined
  // CouchDB returns the whole list at any path below it
  if (path.segments.length > 1) throw new Refusal('not_found')
  const isShown = (name: unknown): boolean =>
    typeof name === 'string' && !runsJobs([name]) && findDocumentLevel(identity, name, settings) !== 'none'
  if (method === 'GET' || method === 'HEAD') {
    const turn = { lane: identity.name ?? '', signal: context.signal }
    return queue.run(() => showRange(context, list, database, isShown), turn).catch(toBusy)
  }
  if (method === 'POST' && list === '_dbs_info') return showKeys(context, database, isShown)
  throw new Refusal('method_not_allowed', { value: list === '_all_dbs' ? 'GET,HEAD' : 'GET,HEAD,POST' })
}

function toBusy(error: unknown): never {
  if (!(error instanceof Refusal) || error.code !== 'overloaded') throw error
  throw new Refusal('upstream_unavailable', { detail: 'too many lists of databases are waiting', retryAfterSeconds: 1 })
}

type IsShown = (name: unknown) => boolean

const KEY_RANGE: readonly string[] = ['key', 'start_key', 'startkey', 'end_key', 'endkey']
/** The parameters that CouchDB applies. `limit` and `skip` count what is shown. */
const RANGE: readonly string[] = [...KEY_RANGE, 'descending', 'inclusive_end']

async function showRange(context: RequestContext, list: string, database: AskedDatabase, isShown: IsShown) {
  const skip = readCount(context, 'skip', 0)
  const limit = readCount(context, 'limit', Number.MAX_SAFE_INTEGER)
  const keys = readKeys(context)
  const range = new URLSearchParams([...context.query].filter(([name]) => RANGE.includes(name)))
  // users may not list databases in CouchDB
  const { status, body } = await database.askAs(CARDEA, { path: `/_all_dbs?${range}`, maxBytes: MAX_BYTES })
  if (status === 400) return toDocumentReply(status, body)
  const shown = requireRows(status, body).filter(isShown)
  const names = (keys ? keepShown(keys, shown) : shown).slice(skip, skip + limit)
  if (list === '_dbs_info' && names.length > MAX_INFOS)
    throw new Refusal('query_invalid', { reason: `Set limit: at most ${MAX_INFOS} databases are described at once.` })
  return toDocumentReply(200, list === '_all_dbs' ? names : [...(await loadInfos(names, database)).values()])
}

function readCount({ query }: RequestContext, name: string, otherwise: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new Refusal('query_invalid', { reason: `Invalid value for integer: "${text.slice(0, 20)}"` })
}

/** The names that a client asks for. CouchDB fails if there are several. */
function readKeys({ query }: RequestContext): readonly unknown[] | undefined {
  const text = query.get('keys')
  if (text === null) return undefined
  const keys = attempt(() => JSON.parse(text))
  if (!Array.isArray(keys)) throw new Refusal('query_invalid', { reason: '`keys` must be an array of strings.' })
  if (KEY_RANGE.some((name) => query.has(name)))
    throw new Refusal('query_invalid', { reason: '`keys` is incompatible with `key`, `start_key` and `end_key`' })
  return keys
}

function keepShown(keys: readonly unknown[], shown: readonly unknown[]): readonly unknown[] {
  const names = new Set(shown)
  return keys.filter((key) => names.has(key))
}

function requireRows(status: number, body: unknown): readonly unknown[] {
  if (status === 200 && Array.isArray(body)) return body
  throw new Refusal('upstream_failed', { detail: `the list of databases has status ${status}` })
}

/** CouchDB accepts no more in one request. */
const MAX_KEYS = 100
/** Each hundred is a request of its own. */
const MAX_INFOS = 1000

/** The rows of `_dbs_info` by the name of the database. */
async function loadInfos(names: readonly unknown[], database: AskedDatabase) {
  const rows = new Map<unknown, unknown>()
  for (let from = 0; from < names.length; from += MAX_KEYS) {
    const body = { keys: names.slice(from, from + MAX_KEYS) }
    const reply = await database.askAs(CARDEA, { path: '/_dbs_info', method: 'POST', body, maxBytes: MAX_BYTES })
    for (const row of requireRows(reply.status, reply.body)) if (isJsonObject(row)) rows.set(row['key'], row)
  }
  return rows
}

/** A database that the user may not read looks like one that does not exist. */
async function showKeys(context: RequestContext, database: AskedDatabase, isShown: IsShown) {
  requireJsonType(context)
  const { keys } = requireJsonObject((await requireBody(context)).value)
  if (!Array.isArray(keys)) throw badRequest('`keys` member must exist.')
  if (keys.length > MAX_KEYS) throw badRequest('too_many_keys')
  const rows = await loadInfos(keys.filter(isShown), database)
  return toDocumentReply(
    200,
    keys.map((key) => rows.get(key) ?? { key, error: 'not_found' }),
  )
}
