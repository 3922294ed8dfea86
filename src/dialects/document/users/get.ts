import { Refusal } from '../../../base/errors.ts'
import { ANONYMOUS, type Identity } from '../../../directory/identity.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import type { UsersDeps } from './deps.ts'
import { type Extras, findLeaf, type Leaf, matchRevision, renderLeaf } from './leaf.ts'
import { getOpenRevisions } from './open-revisions.ts'
import { readFlag } from './query.ts'
import { readRevisionText } from './sent.ts'

export const whoAsks = (context: RequestContext): Identity => (context.authenticated ?? ANONYMOUS).identity

export async function getDocument(context: RequestContext, id: string, deps: UsersDeps): Promise<Reply> {
  const { query } = context
  const who = whoAsks(context)
  if (id.startsWith('_design/') && !who.isAdmin) throw new Refusal('forbidden', { about: DESIGN_IS_CLOSED })
  const extras = readExtras(query)
  const isLatest = readFlag(query, 'latest')
  if (query.has('open_revs')) return getOpenRevisions(context, await findLeaf(deps, id, who), { extras, isLatest })
  const revision = readRevisionText(query.get('rev') ?? undefined)
  const leaf = await findLeaf(deps, id, who)
  return reply(context, requireLeaf(leaf, revision, isLatest), extras)
}

const DESIGN_IS_CLOSED = 'Only administrators can view design docs in the users database.'

export function readExtras(query: URLSearchParams): Extras {
  const hasAll = readFlag(query, 'meta')
  return {
    hasRevisions: readFlag(query, 'revs'),
    hasRevisionsInfo: readFlag(query, 'revs_info') || hasAll,
  }
}

function requireLeaf(leaf: Leaf | undefined, revision: string | undefined, isLatest: boolean): Leaf {
  const match = revision === undefined ? leaf : matchRevision(leaf, revision, isLatest)
  if (!match) throw new Refusal('not_found')
  if (match.isDeleted && revision === undefined) throw new Refusal('deleted')
  return match
}

function reply(context: RequestContext, leaf: Leaf, extras: Extras): Reply {
  const tag = toTag(leaf)
  if (isFresh(context.header('if-none-match'), tag)) {
    return { status: 304, headers: [['ETag', tag], MUST_REVALIDATE] }
  }
  const headers = [MUST_REVALIDATE, ['Content-Type', 'application/json'] as const, ['ETag', tag] as const]
  return { status: 200, headers, body: `${renderLeaf(leaf, extras)}\n` }
}

const MUST_REVALIDATE = ['Cache-Control', 'must-revalidate'] as const

/** A cache must never take what one reader may see for what another may. */
const toTag = ({ revision, view }: Leaf): string => `"${revision}${view === 'whole' ? '' : '-public'}"`

function isFresh(known: string | undefined, tag: string): boolean {
  if (known === undefined) return false
  return known
    .split(',')
    .map((text) => text.trim().replace(/^W\//, ''))
    .includes(tag)
}
