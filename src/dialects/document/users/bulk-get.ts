import { Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject } from '../../../base/json.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { requireBulkReader } from './authorize.ts'
import type { UsersDeps } from './deps.ts'
import { readExtras, whoAsks } from './get.ts'
import { findLeaf, matchRevision, renderLeaf } from './leaf.ts'
import { readFlag, readObjectBody, requireJsonType } from './query.ts'
import { readRevisionText } from './sent.ts'
import { toListReply } from './stream.ts'

const MAX_DOCUMENTS = 10_000

interface Asked {
  readonly id: string
  readonly revision: string | undefined
}

/** Many documents at once, each with what keeps it from being shown. */
export async function bulkGet(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  requireJsonType(context)
  const who = whoAsks(context)
  requireBulkReader(who, deps.settings())
  const docs = findMember(await readObjectBody(context), 'docs')
  if (!Array.isArray(docs)) throw new Refusal('bad_request', { about: "Missing JSON list of 'docs'." })
  if (docs.length > MAX_DOCUMENTS) throw new Refusal('bad_request', { about: 'Too many documents at once.' })
  const asked = docs.map(readAsked)
  const extras = readExtras(context.query)
  const isLatest = readFlag(context.query, 'latest')
  const open = async (wanted: Asked): Promise<string> => {
    const leaf = await findLeaf(deps, wanted.id, who)
    const match = wanted.revision === undefined ? leaf : matchRevision(leaf, wanted.revision, isLatest)
    const found = match ? `{"ok":${renderLeaf(match, extras)}}` : renderMissing(wanted)
    return `{"id":${JSON.stringify(wanted.id)},"docs":[${found}]}`
  }
  return toListReply({ head: '{"results":[', items: asked, render: open, tail: ']}\n' })
}

function readAsked(value: unknown): Asked {
  const id = isJsonObject(value) ? findMember(value, 'id') : undefined
  const revision = isJsonObject(value) ? findMember(value, 'rev') : undefined
  if (typeof id !== 'string') throw new Refusal('bad_request', { about: 'document id missed' })
  return { id, revision: readRevisionText(revision) }
}

const renderMissing = ({ id, revision = 'undefined' }: Asked): string =>
  JSON.stringify({ error: { id, rev: revision, error: 'not_found', reason: 'missing' } })
