import { Refusal } from '../../../base/errors.ts'
import { createPace } from '../../../base/pace.ts'
import { readRevision } from '../../../directory/user.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { toJsonReply } from '../wire.ts'
import { requireBulkReader } from './authorize.ts'
import type { UsersDeps } from './deps.ts'
import { whoAsks } from './get.ts'
import { findLeaf, type Leaf } from './leaf.ts'
import { readObjectBody, requireJsonType } from './query.ts'
import { requireRevisionText } from './sent.ts'

interface Difference {
  readonly id: string
  readonly missing: readonly string[]
  readonly ancestor: string | undefined
}

const MAX_DOCUMENTS = 10_000

/** Which of the revisions somebody has are not here, each with what is here instead. */
export async function revisionsDiff(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const rows = (await findDifferences(context, deps)).map(({ id, missing, ancestor }) => [
    id,
    ancestor === undefined ? { missing } : { missing, possible_ancestors: [ancestor] },
  ])
  return toJsonReply(200, Object.fromEntries(rows))
}

/** The older spelling of the same question. */
export async function missingRevisions(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const rows = (await findDifferences(context, deps)).map(({ id, missing }) => [id, missing])
  return toJsonReply(200, { missing_revs: Object.fromEntries(rows) })
}

async function findDifferences(context: RequestContext, deps: UsersDeps): Promise<readonly Difference[]> {
  requireJsonType(context)
  const who = whoAsks(context)
  requireBulkReader(who, deps.settings())
  const asked = Object.entries(await readObjectBody(context))
  if (asked.length > MAX_DOCUMENTS) throw new Refusal('bad_request', { about: 'Too many documents at once.' })
  const pace = createPace()
  const differences: Difference[] = []
  for (const [id, list] of asked) {
    if (pace.isDue()) await pace.rest()
    const revisions = readRevisions(list)
    const leaf = await findLeaf(deps, id, who)
    const missing = revisions.filter((revision) => !isKnown(leaf, revision))
    if (missing.length > 0) differences.push({ id, missing, ancestor: findAncestor(leaf?.revision, missing) })
  }
  return differences
}

/** The revision there is, or one it comes from. */
function isKnown(leaf: Leaf | undefined, revision: string): boolean {
  const own = readRevision(leaf?.revision ?? '')
  const asked = readRevision(revision)
  if (!leaf || !own || !asked) return false
  return [own.digest, ...leaf.ancestors][own.number - asked.number] === asked.digest
}

/** Of one document. More would be work that no other request could interrupt. */
const MAX_REVISIONS = 10_000

function readRevisions(list: unknown): readonly string[] {
  if (!Array.isArray(list)) throw new Refusal('bad_request', { about: 'Invalid rev format' })
  if (list.length > MAX_REVISIONS) throw new Refusal('bad_request', { about: 'Too many revisions at once.' })
  return list.map(requireRevisionText)
}

function findAncestor(own: string | undefined, missing: readonly string[]): string | undefined {
  const number = readRevision(own ?? '')?.number
  if (number === undefined) return undefined
  return missing.some((revision) => Number.parseInt(revision, 10) > number) ? own : undefined
}
