import { Refusal } from '../../../base/errors.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import type { UsersDeps } from './deps.ts'
import { type Filter, readFilter } from './filter.ts'
import { readFlag, readWhole } from './query.ts'
import { readSequence } from './sequence.ts'

export type FeedKind = 'normal' | 'longpoll' | 'continuous' | 'eventsource'

export interface ChangesQuery {
  readonly feed: FeedKind
  readonly since: number
  readonly limit: number
  readonly hasDocs: boolean
  readonly isDescending: boolean
  /** How often a sign of life is given where nothing happens; with one, a feed has no end of its own. */
  readonly heartbeatMs: number | undefined
  /** How long nothing may happen. */
  readonly timeoutMs: number
  readonly filter: Filter
}

const FEEDS: ReadonlySet<string> = new Set<FeedKind>(['normal', 'longpoll', 'continuous', 'eventsource'])
const MAX_TIMEOUT_MS = 60_000
/** More often would be work for nothing; less often and a timer would overflow. */
const HEARTBEAT_MS = { least: 100, usual: 60_000, most: 3_600_000 } as const

export async function readChangesQuery(context: RequestContext, deps: UsersDeps): Promise<ChangesQuery> {
  const { query } = context
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
  // the set holds nothing else
  if (FEEDS.has(text)) return text as FeedKind
  throw new Refusal('query_invalid', { about: `Invalid value for feed: ${JSON.stringify(text)}` })
}

async function readSince(context: RequestContext, { changes, uuid }: UsersDeps): Promise<number> {
  const { query } = context
  const text = context.header('last-event-id') ?? query.get('last-event-id') ?? query.get('since') ?? '0'
  const sequence = readSequence(text, await changes.sequence(), uuid())
  if (sequence === undefined) throw new Refusal('query_invalid', { about: 'Malformed sequence supplied in since' })
  return sequence
}

function readHeartbeat(query: URLSearchParams): number | undefined {
  const text = query.get('heartbeat')
  if (text === null || text === 'false') return undefined
  if (text === 'true') return HEARTBEAT_MS.usual
  const ms = readWhole(query, 'heartbeat') ?? 0
  if (ms === 0) throw new Refusal('query_invalid', { about: 'The heartbeat value should be a positive integer.' })
  return Math.min(Math.max(ms, HEARTBEAT_MS.least), HEARTBEAT_MS.most)
}
