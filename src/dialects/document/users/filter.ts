import { Refusal } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import type { Leaf } from './leaf.ts'
import { readJsonParameter, readObjectBody, requireJsonType } from './query.ts'
import { readSelector } from './selector.ts'

/** Which changes somebody wants. What the id decides is decided before the document is loaded. */
export interface Filter {
  wantsId(id: string): boolean
  wants(leaf: Leaf): boolean
}

const EVERYTHING: Filter = Object.freeze({ wantsId: () => true, wants: () => true })

type Body = Readonly<Record<string, unknown>>

const FILTERS: ReadonlyMap<string, (context: RequestContext, body: Body) => Filter> = new Map([
  ['_doc_ids', (context: RequestContext, body: Body) => readIds(context, body)],
  ['_selector', (_exchange: RequestContext, body: Body) => readSelectorFilter(body)],
  ['_design', () => ({ ...EVERYTHING, wantsId: (id: string) => id.startsWith('_design/') })],
])

/** Reads `filter`, and what it needs, from the query or the body of a `POST`. */
export async function readFilter(context: RequestContext): Promise<Filter> {
  const body = context.method === 'POST' ? await readOptionalBody(context) : {}
  const name = context.query.get('filter')
  if (name === null) return EVERYTHING
  const create = FILTERS.get(name)
  // the others are functions of design documents, and there are none
  if (!create) throw new Refusal('not_found')
  return create(context, body)
}

async function readOptionalBody(context: RequestContext): Promise<Body> {
  const bytes = await context.readBody()
  if (bytes === undefined || bytes.length === 0) return {}
  requireJsonType(context)
  return readObjectBody(context)
}

function readIds(context: RequestContext, body: Body): Filter {
  const ids = findMember(body, 'doc_ids') ?? readJsonParameter(context.query, 'doc_ids')
  if (!Array.isArray(ids)) throw new Refusal('bad_request', { about: '`doc_ids` filter parameter is not a list.' })
  const wanted = new Set<unknown>(ids)
  return { ...EVERYTHING, wantsId: (id) => wanted.has(id) }
}

function readSelectorFilter(body: Body): Filter {
  const test = readSelector(findMember(body, 'selector'))
  return { ...EVERYTHING, wants: (leaf) => test(toObject(leaf)) }
}

const toObject = ({ id, revision, isDeleted, members }: Leaf): object =>
  Object.fromEntries([['_id', id], ['_rev', revision], ...(isDeleted ? [['_deleted', true]] : []), ...members])
