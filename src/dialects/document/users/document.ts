/** Users of the directory as documents, as far as the reader may see them. */
import type { Identity } from '../../../directory/identity.ts'
import { maskTotp } from '../../../directory/second-factor/totp.ts'
import { DOCUMENT_MEMBERS } from '../../../directory/users/fields.ts'
import { ancestorsOf, readRevision } from '../../../directory/users/revisions.ts'
import { type Ancestors, findTotp, TOTP_MEMBER, type User, type UserRecord } from '../../../directory/users/user.ts'
import { toDocumentMembers } from '../../../passwords/password.ts'
import { PASSWORD_MEMBERS } from '../../../passwords/schemes.ts'
import { type View, viewOf } from './authorize.ts'
import type { UsersDeps, UsersSettings } from './deps.ts'
import { createDesignDocument, DESIGN_ID } from './design.ts'
import { readId } from './id.ts'

/** A pair, because an object would move names that look like numbers to the front. */
export type Member = readonly [name: string, value: unknown]

/** The current revision of a document. Users have no conflicting revisions. */
export interface VisibleDocument {
  readonly id: string
  readonly revision: string
  readonly ancestors: Ancestors
  readonly isDeleted: boolean
  readonly members: readonly Member[]
  readonly view: Exclude<View, 'none'>
}

/** `undefined`: there is no such document, or the reader may not see it. */
export async function findVisible(deps: UsersDeps, id: string, reader: Identity): Promise<VisibleDocument | undefined> {
  const target = readId(id, deps.prefix)
  if (target.kind === 'design') return reader.isAdmin && id === DESIGN_ID ? toDesign(deps.prefix) : undefined
  if (target.kind !== 'user') return undefined
  const record = await deps.directory.findRecord(target.name)
  return record && toVisible(deps, record, reader)
}

export function toVisible(deps: UsersDeps, record: UserRecord, reader: Identity): VisibleDocument | undefined {
  const id = `${deps.prefix}${record.name}`
  const ancestors = ancestorsOf(record)
  if (record.kind === 'user') {
    const members = findMembers(record, reader, deps)
    return members && { id, revision: record.document.revision, ancestors, isDeleted: false, ...members }
  }
  // only administrators learn that a user existed
  if (!reader.isAdmin) return undefined
  return { id, revision: record.revision, ancestors, isDeleted: true, members: [], view: 'whole' }
}

function findMembers(
  user: User,
  reader: Identity,
  deps: UsersDeps,
): Pick<VisibleDocument, 'members' | 'view'> | undefined {
  const settings = deps.settings()
  const view = viewOf(reader, user.name, settings)
  if (view === 'none') return undefined
  const members = MEMBERS_OF[view](user, settings)
  return members.length === 0 ? undefined : { members, view }
}

/** Never public, not even if `public_fields` lists them: they allow an offline attack on the password. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([...PASSWORD_MEMBERS, 'password', TOTP_MEMBER])

/** All members except `_id` and `_rev`. The stored password comes first, as in CouchDB. */
function toMembers({ name, password, document }: User): readonly Member[] {
  const isOther = ([member]: Member) => !DOCUMENT_MEMBERS.has(member) && !PASSWORD_MEMBERS.has(member)
  return [
    ...Object.entries(toDocumentMembers(password)),
    ['name', name],
    ['type', 'user'],
    ['roles', document.roles],
    ...document.members.filter(isOther),
  ]
}

const toOwnMembers = (user: User): readonly Member[] => {
  const totp = findTotp(user)
  if (totp === undefined) return toMembers(user)
  return toMembers(user).map(([name, value]) => (name === TOTP_MEMBER ? [name, maskTotp(totp)] : [name, value]))
}

const toPublicMembers = (user: User, { publicFields }: UsersSettings): readonly Member[] =>
  toMembers(user).filter(([member]) => publicFields.includes(member) && !SECRET_MEMBERS.has(member))

const MEMBERS_OF: Readonly<
  Record<VisibleDocument['view'], (user: User, settings: UsersSettings) => readonly Member[]>
> = {
  whole: toMembers,
  own: toOwnMembers,
  public: toPublicMembers,
}

const toDesign = (prefix: string): VisibleDocument => ({
  id: DESIGN_ID,
  ...createDesignDocument(prefix),
  ancestors: [],
  isDeleted: false,
  view: 'whole',
})

/** The optional members of a rendered document. */
export interface Extras {
  readonly hasRevisions: boolean
  readonly hasRevisionsInfo: boolean
}

const NO_EXTRAS: Extras = Object.freeze({ hasRevisions: false, hasRevisionsInfo: false })

export function renderDocument(document: VisibleDocument, extras: Extras = NO_EXTRAS): string {
  const { id, revision, ancestors, isDeleted, members } = document
  const { number: start, digest } = readRevision(revision) ?? { number: 0, digest: '' }
  const status = isDeleted ? 'deleted' : 'available'
  return renderMembers([
    ['_id', id],
    ['_rev', revision],
    ...(isDeleted ? [['_deleted', true] as const] : []),
    ...members,
    ...(extras.hasRevisions ? [['_revisions', { start, ids: [digest, ...ancestors] }] as const] : []),
    ...(extras.hasRevisionsInfo ? [['_revs_info', [{ rev: revision, status }]] as const] : []),
  ])
}

export const renderMembers = (members: readonly Member[]): string =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`

/** The document if it has the requested revision or, with `latest=true`, a later one. */
export function matchRevision(
  document: VisibleDocument | undefined,
  revision: string,
  isLatest: boolean,
): VisibleDocument | undefined {
  if (!document || document.revision === revision) return document
  const requested = readRevision(revision)?.number
  const current = readRevision(document.revision)?.number
  const isLater = requested !== undefined && current !== undefined && requested < current
  return isLatest && isLater ? document : undefined
}
