import { setImmediate as giveWay } from 'node:timers/promises'
import { Refusal } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import { createPace } from '../../../base/pace.ts'
import { ANONYMOUS, type Authenticated, isAnonymous } from '../../../directory/identity.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { toDocumentWords } from '../errors.ts'
import { toJsonReply } from '../wire.ts'
import type { UsersDeps } from './deps.ts'
import { readId } from './id.ts'
import { CLOSED_TO_REPLICATION, toCaller } from './put.ts'
import { readObjectBody, requireJsonType } from './query.ts'
import { readSent, type SentDocument } from './sent.ts'
import { writeDocument } from './write.ts'

const MAX_DOCUMENTS = 10_000

/** Many documents, one after the other, each with its own outcome. */
export async function bulkDocs(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  requireJsonType(context)
  const who = context.authenticated ?? ANONYMOUS
  // one at a time is enough to sign up, and hashing is dear
  if (isAnonymous(who)) throw new Refusal('authentication_required')
  const documents = await readDocuments(await readObjectBody(context))
  requireOwn(documents, who, deps)
  const outcomes: unknown[] = []
  for (const sent of documents) {
    if (context.signal.aborted) break
    outcomes.push(await writeOne(deps, sent, who, context))
    await giveWay()
  }
  return toJsonReply(201, outcomes)
}

async function readDocuments(body: Readonly<Record<string, unknown>>): Promise<readonly SentDocument[]> {
  const docs = findMember(body, 'docs')
  if (!Array.isArray(docs)) throw new Refusal('bad_request', { about: '`docs` parameter must be an array.' })
  if (docs.length > MAX_DOCUMENTS) throw new Refusal('bad_request', { about: 'Too many documents at once.' })
  if (findMember(body, 'new_edits') === false) throw new Refusal('forbidden', { about: CLOSED_TO_REPLICATION })
  if (findMember(body, 'all_or_nothing') === true) {
    throw new Refusal('bad_request', { about: 'all_or_nothing is not supported.' })
  }
  const pace = createPace()
  const documents: SentDocument[] = []
  for (const doc of docs) {
    if (pace.isDue()) await pace.rest()
    documents.push(readSent(doc))
  }
  return documents
}

/** quirk: reference document 9.2: one document of another user, and the whole request is rejected. */
function requireOwn(documents: readonly SentDocument[], { identity }: Authenticated, { prefix }: UsersDeps): void {
  if (identity.isAdmin) return
  for (const { id = '' } of documents) {
    const target = readId(id, prefix)
    if (target.kind !== 'user' || target.name !== identity.name) throw new Refusal('not_found')
  }
}

async function writeOne(
  deps: UsersDeps,
  sent: SentDocument,
  who: Authenticated,
  context: RequestContext,
): Promise<unknown> {
  const { id = '' } = sent
  try {
    const requirePassword = () => deps.requirePassword(context)
    const edit = { id, sent, who, caller: toCaller(context), requirePassword }
    return { ok: true, ...(await writeDocument(deps, edit)) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { error: word, reason } = toDocumentWords(error)
    return { id, error: word, reason }
  }
}
