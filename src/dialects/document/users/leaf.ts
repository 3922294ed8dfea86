import type { Identity } from '../../../directory/identity.ts'
import { type Ancestors, ancestorsOf, readRevision, type User, type UserRecord } from '../../../directory/user.ts'
import { viewOf } from './authorize.ts'
import type { UsersDeps } from './deps.ts'
import { createDesignDocument, DESIGN_ID } from './design.ts'
import { readId } from './id.ts'
import { type Member, renderMembers } from './member.ts'
import { toMembers, toPublicMembers } from './to-document.ts'

/** The one current revision of a document, as far as the reader may see it. There are never conflicting ones here. */
export interface Leaf {
  readonly id: string
  readonly revision: string
  readonly ancestors: Ancestors
  readonly isDeleted: boolean
  readonly members: readonly Member[]
  readonly view: 'whole' | 'public'
}

/** What a reader may see under this id; `undefined` where that is nothing. */
export async function findLeaf(deps: UsersDeps, id: string, who: Identity): Promise<Leaf | undefined> {
  const target = readId(id, deps.prefix)
  if (target.kind === 'design') return who.isAdmin && id === DESIGN_ID ? toDesignLeaf(deps.prefix) : undefined
  if (target.kind !== 'user') return undefined
  const record = await deps.directory.findRecord(target.name)
  return record && toLeaf(deps, record, who)
}

export function toLeaf(deps: UsersDeps, record: UserRecord, who: Identity): Leaf | undefined {
  const id = `${deps.prefix}${record.name}`
  if (record.kind === 'user') return toUserLeaf(deps, id, record, who)
  // that somebody was there once is nobody else's business
  if (!who.isAdmin) return undefined
  return { id, revision: record.revision, ancestors: ancestorsOf(record), isDeleted: true, members: [], view: 'whole' }
}

function toUserLeaf(deps: UsersDeps, id: string, user: User, who: Identity): Leaf | undefined {
  const settings = deps.settings()
  const view = viewOf(who, user.name, settings)
  if (view === 'none') return undefined
  const members = view === 'whole' ? toMembers(user) : toPublicMembers(user, settings.publicFields)
  if (members.length === 0) return undefined
  return { id, revision: user.document.revision, ancestors: ancestorsOf(user), isDeleted: false, members, view }
}

const toDesignLeaf = (prefix: string): Leaf => ({
  id: DESIGN_ID,
  ...createDesignDocument(prefix),
  ancestors: [],
  isDeleted: false,
  view: 'whole',
})

/** What to show beside the members. */
export interface Extras {
  readonly hasRevisions: boolean
  readonly hasRevisionsInfo: boolean
}

const NO_EXTRAS: Extras = Object.freeze({ hasRevisions: false, hasRevisionsInfo: false })

/** The text of the document. */
export function renderLeaf({ id, revision, ancestors, isDeleted, members }: Leaf, extras: Extras = NO_EXTRAS): string {
  const { number: start, digest } = readRevision(revision) ?? { number: 0, digest: '' }
  return renderMembers([
    ['_id', id],
    ['_rev', revision],
    ...(isDeleted ? [['_deleted', true] as const] : []),
    ...members,
    ...(extras.hasRevisions ? [['_revisions', { start, ids: [digest, ...ancestors] }] as const] : []),
    ...(extras.hasRevisionsInfo ? [['_revs_info', [{ rev: revision, status: toStatus(isDeleted) }]] as const] : []),
  ])
}

const toStatus = (isDeleted: boolean): string => (isDeleted ? 'deleted' : 'available')

/**
 * The leaf if it is the revision asked for. `isLatest`: also if it comes after that one, which a reader who is behind
 * asks for by an older number.
 */
export function matchRevision(leaf: Leaf | undefined, revision: string, isLatest: boolean): Leaf | undefined {
  if (!leaf || leaf.revision === revision) return leaf
  const asked = readRevision(revision)?.number
  const own = readRevision(leaf.revision)?.number
  return isLatest && asked !== undefined && own !== undefined && asked < own ? leaf : undefined
}
