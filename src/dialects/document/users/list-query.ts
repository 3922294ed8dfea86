import { Refusal } from '../../../base/errors.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import type { KeyRange } from './key-range.ts'
import { readFlag, readJsonParameter, readObjectBody, readWhole, requireJsonType } from './query.ts'

export interface ListQuery {
  readonly range: KeyRange
  /** These and no others, in this order. */
  readonly keys: readonly unknown[] | undefined
  readonly limit: number
  readonly skip: number
  readonly hasDocs: boolean
  readonly hasSequence: boolean
}

/** Reads the parameters of a listing: of the query, or of the body of a `POST`, where they are JSON. */
export async function readListQuery(context: RequestContext): Promise<ListQuery> {
  if (context.method !== 'POST') return toListQuery(context.query)
  requireJsonType(context)
  const given = new URLSearchParams(context.query)
  for (const [name, value] of Object.entries(await readObjectBody(context))) given.set(name, JSON.stringify(value))
  return toListQuery(given)
}

function toListQuery(given: URLSearchParams): ListQuery {
  const keys = readJsonParameter(given, 'keys')
  if (keys !== undefined && !Array.isArray(keys))
    throw new Refusal('bad_request', { about: '`keys` must be an array.' })
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
