/** Reads the parameters of `_changes`. */
import { badRequest, Refusal } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import type { Position } from '../../../directory/store-port/changes.ts'
import type { RequestContext, RequestHead } from '../../../http/request-context.ts'
import { requireJsonType, requireObjectBody } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import type { VisibleDocument } from './document.ts'
import { readFlag, readJsonParameter, readWhole } from './query.ts'
import { readSelector } from './selector.ts'
import { readSequence } from './user-changes.ts'

export type FeedKind = 'normal' | 'longpoll' | 'continuous' | 'eventsource'

export interface ChangesQuery {
  readonly feed: FeedKind
  readonly since: Position
  readonly limit: number
  readonly hasDocs: boolean
  readonly isDescending: boolean
  /** How often a heartbeat is sent while there are no changes. A feed with heartbeats has no timeout. */
  readonly heartbeatMs: number | undefined
  /** A feed ends after this time without changes. */
  readonly timeoutMs: number
  readonly filter: Filter
}

/** Selects changes. `matchesId` is checked before the document is loaded. */
export interface Filter {
  matchesId(id: string): boolean
  matches(document: VisibleDocument): boolean
}

const FEEDS: ReadonlyMap<string, FeedKind> = new Map<string, FeedKind>([
  ['normal', 'normal'],
  ['continuous', 'continuous'],
  ['live', 'continuous'],
  ['longpoll', 'longpoll'],
  ['eventsource', 'eventsource'],
])
const MAX_TIMEOUT_MS = 60_000
const DEFAULT_HEARTBEAT_MS = 60_000
const MIN_HEARTBEAT_MS = 100
const MAX_HEARTBEAT_MS = 3_600_000

export async function readChangesQuery(context: RequestContext, deps: UsersDeps): Promise<ChangesQuery> {
  const { query } = context
  // every sequence is sent, as CouchDB may do, whatever the interval
  if (!/^0*[1-9]\d*$/.test(query.get('seq_interval') ?? '1')) throw badRequest('invalid_seq_interval')
  return {
    feed: readFeed(query.get('feed') ?? 'normal'),
    filter: await readFilter(context),
    limit: readWhole(query, 'limit') ?? Number.POSITIVE_INFINITY,
    hasDocs: readFlag(query, 'include_docs'),
    isDescending: readFlag(query, 'descending'),
    heartbeatMs: readHeartbeat(query),
    timeoutMs: Math.min(readWhole(query, 'timeout') ?? MAX_TIMEOUT_MS, MAX_TIMEOUT_MS),
    since: await readSince(context, deps),
  }
}

function readFeed(text: string): FeedKind {
  const feed = FEEDS.get(text)
  if (feed === undefined) throw badRequest(`Supported \`feed\` types: ${[...FEEDS.keys()].join(', ')}`)
  return feed
}

async function readSince(context: RequestHead, { changes }: UsersDeps): Promise<Position> {
  const { query } = context
  const text = context.header('last-event-id') ?? query.get('last-event-id') ?? query.get('since') ?? '0'
  const position = readSequence(text, await changes.head())
  if (!position) throw badRequest("Malformed sequence supplied in 'since' parameter.")
  return position
}

function readHeartbeat(query: URLSearchParams): number | undefined {
  const text = query.get('heartbeat')
  if (text === null || text === 'false') return undefined
  if (text === 'true') return DEFAULT_HEARTBEAT_MS
  const ms = Number(text)
  if (!/^-?\d+$/.test(text))
    throw badRequest('Invalid heartbeat value. Expecting a positive integer value (in milliseconds).')
  if (ms <= 0) throw badRequest('The heartbeat value should be a positive integer (in milliseconds).')
  return Math.min(Math.max(ms, MIN_HEARTBEAT_MS), MAX_HEARTBEAT_MS)
}

const MATCH_ALL: Filter = Object.freeze({ matchesId: () => true, matches: () => true })

type Body = Readonly<Record<string, unknown>>
type FilterReader = (context: RequestContext, body: Body) => Filter

/** By the name in `?filter=`. Other names are functions of design documents, which this database does not have. */
const FILTERS: ReadonlyMap<string, FilterReader> = new Map<string, FilterReader>([
  ['_doc_ids', readIdFilter],
  ['_selector', readSelectorFilter],
  ['_design', () => ({ ...MATCH_ALL, matchesId: (id) => id.startsWith('_design/') })],
])

async function readFilter(context: RequestContext): Promise<Filter> {
  const body = context.method === 'POST' ? await readOptionalBody(context) : {}
  const name = context.query.get('filter') ?? ''
  if (name === '') return MATCH_ALL
  const read = FILTERS.get(name)
  if (read) return read(context, body)
  if (name.startsWith('_')) throw badRequest('unknown builtin filter name')
  if (name.split('/').length !== 2) throw badRequest('`filter` must be of the form `designname/filtername`')
  throw new Refusal('not_found')
}

async function readOptionalBody(context: RequestContext): Promise<Body> {
  const bytes = await context.readBody()
  if (bytes === undefined || bytes.length === 0) return {}
  requireJsonType(context)
  return requireObjectBody(context)
}

function readIdFilter(context: RequestHead, body: Body): Filter {
  const ids = findMember(body, 'doc_ids') ?? readJsonParameter(context.query, 'doc_ids')
  if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string'))
    throw badRequest('`doc_ids` filter parameter is not a list of doc ids.')
  const wanted = new Set<unknown>(ids)
  return { ...MATCH_ALL, matchesId: (id) => wanted.has(id) }
}

function readSelectorFilter({ method }: RequestContext, body: Body): Filter {
  if (method !== 'POST') throw badRequest('Selector must be specified in POST payload')
  const matches = readSelector(findMember(body, 'selector'))
  return { ...MATCH_ALL, matches: (document) => matches(toObject(document)) }
}

const toObject = ({ id, revision, isDeleted, members }: VisibleDocument): object =>
  Object.fromEntries([['_id', id], ['_rev', revision], ...(isDeleted ? [['_deleted', true]] : []), ...members])
