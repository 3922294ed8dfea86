/** Many documents in one request, each with its own result. */
import { randomBytes } from 'node:crypto'
import { badRequest, Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject } from '../../../base/json.ts'
import { createPace, yieldToOthers } from '../../../base/pace.ts'
import { type Identity, identityOf, isAnonymous } from '../../../directory/identity.ts'
import { readRevision } from '../../../directory/users/revisions.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { ON_ONE_LINE, requireJsonType, requireObjectBody, toDocumentReply, toListReply } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import { toDocumentErrorBody } from '../errors.ts'
import { requireBulkReader } from './authorize.ts'
import { findVisible, matchRevision, renderDocument, type VisibleDocument } from './document.ts'
import { readExtras } from './get.ts'
import { readId } from './id.ts'
import { readFlag } from './query.ts'
import { readRevisionText, readSent, requireRevisionText, type SentDocument } from './sent.ts'
import { CLOSED_TO_REPLICATION, writeUserDocument } from './write.ts'

const MAX_DOCUMENTS = 10_000

/** Writes the documents one after the other. */
export async function bulkDocs(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  requireJsonType(context)
  // signing up needs one document at a time, and every password costs a hash
  if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
  const documents = await readDocuments(await requireObjectBody(context))
  requireOwn(documents, identityOf(context), deps)
  const results: unknown[] = []
  for (const sent of documents) {
    if (context.signal.aborted) break
    results.push(await writeOne(context, sent, deps))
    await yieldToOthers()
  }
  return toDocumentReply(201, results)
}

type Body = Readonly<Record<string, unknown>>

async function readDocuments(body: Body): Promise<readonly SentDocument[]> {
  const docs = requireDocs(body, '`docs` parameter must be an array.')
  const isNew = findMember(body, 'new_edits') ?? true
  if (typeof isNew !== 'boolean') throw badRequest('`new_edits` parameter must be a boolean.')
  if (!isNew) throw new Refusal('forbidden', { reason: CLOSED_TO_REPLICATION })
  if (findMember(body, 'all_or_nothing') === true) throw badRequest('all_or_nothing is not supported.')
  const pace = createPace()
  const documents: SentDocument[] = []
  for (const doc of docs) {
    if (pace.isDue()) await pace.rest()
    documents.push(readSent(doc))
  }
  return documents
}

function requireDocs(body: Body, aboutMissing: string): readonly unknown[] {
  const docs = findMember(body, 'docs')
  if (!Array.isArray(docs)) throw badRequest(aboutMissing)
  if (docs.length > MAX_DOCUMENTS) throw badRequest('Too many documents at once.')
  return docs
}

/** quirk: reference document 9.2: one document of another user, and the whole request is rejected. */
function requireOwn(documents: readonly SentDocument[], writer: Identity, { prefix }: UsersDeps): void {
  if (writer.isAdmin) return
  for (const { id = '' } of documents) {
    const target = readId(id, prefix)
    if (target.kind !== 'user' || target.name !== writer.name) throw new Refusal('not_found')
  }
}

async function writeOne(context: RequestContext, sent: SentDocument, deps: UsersDeps): Promise<unknown> {
  const { id = randomBytes(16).toString('hex') } = sent
  try {
    return { ok: true, ...(await writeUserDocument(context, { id, sent }, deps)) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { id, ...toDocumentErrorBody(error) }
  }
}

interface RequestedDocument {
  readonly id: string
  readonly revision: string | undefined
}

export async function bulkGet(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  requireJsonType(context)
  const reader = identityOf(context)
  requireBulkReader(reader, deps.settings())
  const docs = requireDocs(await requireObjectBody(context), "Missing JSON list of 'docs'.")
  const requested = docs.map(readRequested)
  const extras = readExtras(context.query)
  const isLatest = readFlag(context.query, 'latest')
  const render = async ({ id, revision }: RequestedDocument): Promise<string> => {
    const document = await findVisible(deps, id, reader)
    const match = revision === undefined ? document : matchRevision(document, revision, isLatest)
    const result = match ? `{"ok":${renderDocument(match, extras)}}` : renderMissing({ id, revision })
    return `{"id":${JSON.stringify(id)},"docs":[${result}]}`
  }
  return toListReply('{"results":[', requested, render, ON_ONE_LINE)
}

function readRequested(value: unknown): RequestedDocument {
  const id = isJsonObject(value) ? findMember(value, 'id') : undefined
  const revision = isJsonObject(value) ? findMember(value, 'rev') : undefined
  if (typeof id !== 'string') throw badRequest('document id missed')
  return { id, revision: readRevisionText(revision) }
}

const renderMissing = ({ id, revision = 'undefined' }: RequestedDocument): string =>
  JSON.stringify({ error: { rev: revision, reason: 'missing', id, error: 'not_found' } })

/** For `_revs_diff` and `_missing_revs`: which of the client's revisions of a document this database does not have. */
interface Difference {
  readonly id: string
  readonly missing: readonly string[]
  /** The current revision, if a missing one may be its successor. */
  readonly ancestor: string | undefined
}

export async function revisionsDiff(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const rows = (await findDifferences(context, deps)).map(({ id, missing, ancestor }) => [
    id,
    ancestor === undefined ? { missing } : { missing, possible_ancestors: [ancestor] },
  ])
  return toDocumentReply(200, Object.fromEntries(rows))
}

/** The older form of `_revs_diff`. */
export async function missingRevisions(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const rows = (await findDifferences(context, deps)).map(({ id, missing }) => [id, missing])
  return toDocumentReply(200, { missing_revs: Object.fromEntries(rows) })
}

async function findDifferences(context: RequestContext, deps: UsersDeps): Promise<readonly Difference[]> {
  requireJsonType(context)
  const reader = identityOf(context)
  requireBulkReader(reader, deps.settings())
  const requested = Object.entries(await requireObjectBody(context))
  if (requested.length > MAX_DOCUMENTS) throw badRequest('Too many documents at once.')
  const pace = createPace()
  const differences: Difference[] = []
  for (const [id, list] of requested) {
    if (pace.isDue()) await pace.rest()
    const revisions = readRevisions(list)
    const document = await findVisible(deps, id, reader)
    const missing = revisions.filter((revision) => !isKnown(document, revision))
    if (missing.length > 0) differences.push({ id, missing, ancestor: findAncestor(document?.revision, missing) })
  }
  return differences
}

/** Whether it is the current revision, or one of its ancestors. */
function isKnown(document: VisibleDocument | undefined, revision: string): boolean {
  const current = readRevision(document?.revision ?? '')
  const requested = readRevision(revision)
  if (!document || !current || !requested) return false
  return [current.digest, ...document.ancestors][current.number - requested.number] === requested.digest
}

/** For one document: its revisions are compared without a pause for other requests. */
const MAX_REVISIONS = 10_000

function readRevisions(list: unknown): readonly string[] {
  if (!Array.isArray(list)) throw badRequest('Invalid rev format')
  if (list.length > MAX_REVISIONS) throw badRequest('Too many revisions at once.')
  return list.map(requireRevisionText)
}

function findAncestor(current: string | undefined, missing: readonly string[]): string | undefined {
  const number = readRevision(current ?? '')?.number
  if (number === undefined) return undefined
  return missing.some((revision) => Number.parseInt(revision, 10) > number) ? current : undefined
}
