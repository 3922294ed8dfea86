/** `_all_docs`: the documents that the reader may see, by id. */
import { badRequest } from '../../../base/errors.ts'
import { yieldToOthers } from '../../../base/pace.ts'
import { type Identity, identityOf } from '../../../directory/identity.ts'
import type { Bound } from '../../../directory/store-port/users.ts'
import { listUserPages } from '../../../directory/users/user-operations.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { requireJsonType, requireObjectBody, toListReply } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import { findVisible, renderDocument, toVisible, type VisibleDocument } from './document.ts'
import { invalidQuery, readFlag, readJsonParameter, readWhole } from './query.ts'
import { renderSequence } from './user-changes.ts'

interface ListQuery {
  readonly range: KeyRange
  /** Lists exactly these ids, in this order. */
  readonly keys: readonly unknown[] | undefined
  readonly limit: number
  readonly skip: number
  readonly hasDocs: boolean
  readonly hasSequence: boolean
}

/** A key may be any JSON value, although ids are strings. `undefined`: not given. */
interface KeyRange {
  readonly start?: unknown
  readonly end?: unknown
  readonly isEndInclusive: boolean
  readonly isDescending: boolean
}

interface Row {
  readonly key: unknown
  readonly document: VisibleDocument | undefined
}

export async function allDocs(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const query = await readListQuery(context)
  const reader = identityOf(context)
  const rows = query.keys ? listKeys(deps, query, reader) : listRange(deps, query, reader)
  const items = query.limit === 0 ? [] : applyLimits(rows, query)
  return toListReply(await renderHead(deps, query), items, (row) => renderRow(row, query.hasDocs))
}

/** The parameters are in the query or, for a `POST`, in the JSON body. */
async function readListQuery(context: RequestContext): Promise<ListQuery> {
  if (context.method !== 'POST') return toListQuery(context.query, 'parameter')
  requireJsonType(context)
  const given = new URLSearchParams(context.query)
  const body = await requireObjectBody(context)
  for (const [name, value] of Object.entries(body)) given.set(name, JSON.stringify(value))
  return toListQuery(given, 'keys' in body ? 'body member' : 'parameter')
}

function toListQuery(given: URLSearchParams, place: 'parameter' | 'body member'): ListQuery {
  const keys = readJsonParameter(given, 'keys')
  if (keys !== undefined && !Array.isArray(keys)) throw badRequest(`\`keys\` ${place} must be an array.`)
  if (readFlag(given, 'reduce')) throw invalidQuery('Reduce is invalid for map-only views.')
  if (readFlag(given, 'group') || readWhole(given, 'group_level'))
    throw invalidQuery('Invalid use of grouping on a map view.')
  return {
    range: readRange(given),
    keys,
    limit: readWhole(given, 'limit') ?? Number.POSITIVE_INFINITY,
    skip: readWhole(given, 'skip') ?? 0,
    hasDocs: readFlag(given, 'include_docs'),
    hasSequence: readFlag(given, 'update_seq'),
  }
}

function readRange(given: URLSearchParams): KeyRange {
  const isDescending = readFlag(given, 'descending')
  const key = readJsonParameter(given, 'key')
  if (key !== undefined) return { start: key, end: key, isEndInclusive: true, isDescending }
  return {
    start: readJsonParameter(given, given.has('startkey') ? 'startkey' : 'start_key'),
    end: readJsonParameter(given, given.has('endkey') ? 'endkey' : 'end_key'),
    isEndInclusive: readFlag(given, 'inclusive_end', true),
    isDescending,
  }
}

async function renderHead({ directory, changes }: UsersDeps, query: ListQuery): Promise<string> {
  const total = await directory.countUsers()
  // the number of rows before a start key is not known without reading them
  const offset = query.keys || query.range.start !== undefined ? null : Math.min(query.skip, total)
  const sequence = query.hasSequence ? `,"update_seq":${renderSequence(await changes.head())}` : ''
  return `{"total_rows":${total},"offset":${offset}${sequence},"rows":[`
}

async function* listRange(deps: UsersDeps, { range }: ListQuery, reader: Identity): AsyncGenerator<Row, void> {
  const names = toNameRange(range, deps.prefix)
  if (!names) return
  for await (const page of listUserPages(deps.directory, { ...names, descending: range.isDescending })) {
    for (const user of page) {
      const document = toVisible(deps, user, reader)
      if (document) yield { key: document.id, document }
    }
    // a page without visible documents yields no row, so other requests would wait
    await yieldToOthers()
  }
}

async function* listKeys(deps: UsersDeps, query: ListQuery, reader: Identity): AsyncGenerator<Row, void> {
  const { keys = [], range } = query
  for (const key of range.isDescending ? keys.toReversed() : keys) {
    yield { key, document: typeof key === 'string' ? await findVisible(deps, key, reader) : undefined }
  }
}

async function* applyLimits(rows: AsyncIterable<Row>, { skip, limit }: ListQuery): AsyncGenerator<Row, void> {
  let index = 0
  for await (const row of rows) {
    index += 1
    if (index > skip) yield row
    if (index >= skip + limit) return
  }
}

function renderRow({ key, document }: Row, hasDocs: boolean): string {
  if (!document) return JSON.stringify({ key, error: 'not_found' })
  const { id, revision: rev, isDeleted } = document
  const row = JSON.stringify({ id, key, value: isDeleted ? { rev, deleted: true } : { rev } })
  return hasDocs ? `${row.slice(0, -1)},"doc":${isDeleted ? 'null' : renderDocument(document)}}` : row
}

type Position = { readonly name: string } | 'before all' | 'after all'

/** The names of the users whose document ids are in a range of keys. `undefined`: the range is empty. */
function toNameRange(range: KeyRange, prefix: string): { readonly from?: Bound; readonly to?: Bound } | undefined {
  const { start, end, isEndInclusive, isDescending } = range
  const [near, far] = isDescending ? (['after all', 'before all'] as const) : (['before all', 'after all'] as const)
  const from = start === undefined ? near : toPosition(start, prefix)
  const to = end === undefined ? far : toPosition(end, prefix)
  if (from === far || to === near) return undefined
  return {
    ...(typeof from === 'object' ? { from: { name: from.name, isInclusive: true } } : {}),
    ...(typeof to === 'object' ? { to: { name: to.name, isInclusive: isEndInclusive } } : {}),
  }
}

/** Ids are ordered by their bytes. null, booleans and numbers come before all strings; lists and objects after. */
function toPosition(key: unknown, prefix: string): Position {
  if (typeof key !== 'string') return typeof key === 'object' && key !== null ? 'after all' : 'before all'
  if (key.startsWith(prefix)) return { name: key.slice(prefix.length) }
  return Buffer.compare(Buffer.from(key), Buffer.from(prefix)) < 0 ? 'before all' : 'after all'
}
