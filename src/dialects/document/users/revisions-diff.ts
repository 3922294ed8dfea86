/** `_revs_diff` and `_missing_revs`: which of the client's revisions this database does not have. */
import { badRequest } from '../../../base/errors.ts'
import { createPace } from '../../../base/pace.ts'
import { identityOf } from '../../../directory/identity.ts'
import { readRevision } from '../../../directory/users/revisions.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { requireJsonType, requireObjectBody, toJsonReply } from '../body.ts'
import { requireBulkReader } from './authorize.ts'
import type { UsersDeps } from './deps.ts'
import { findVisible, type VisibleDocument } from './document.ts'
import { requireRevisionText } from './sent.ts'

interface Difference {
  readonly id: string
  readonly missing: readonly string[]
  /** The current revision, if a missing one may be its successor. */
  readonly ancestor: string | undefined
}

const MAX_DOCUMENTS = 10_000

export async function revisionsDiff(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const rows = (await findDifferences(context, deps)).map(({ id, missing, ancestor }) => [
    id,
    ancestor === undefined ? { missing } : { missing, possible_ancestors: [ancestor] },
  ])
  return toJsonReply(200, Object.fromEntries(rows))
}

/** The older form of `_revs_diff`. */
export async function missingRevisions(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const rows = (await findDifferences(context, deps)).map(({ id, missing }) => [id, missing])
  return toJsonReply(200, { missing_revs: Object.fromEntries(rows) })
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
