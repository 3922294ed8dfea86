/** Users of the directory as documents, as far as the reader may see them. */
import type { Identity } from '../../../directory/identity.ts'
import { maskTotp } from '../../../directory/second-factor/totp.ts'
import { DOCUMENT_MEMBERS } from '../../../directory/users/fields.ts'
import { ancestorsOf, nextRevision, readRevision } from '../../../directory/users/revisions.ts'
import { type Ancestors, findTotp, TOTP_MEMBER, type User, type UserRecord } from '../../../directory/users/user.ts'
import { PASSWORD_MEMBERS, toDocumentMembers } from '../../../passwords/schemes.ts'
import type { UsersDeps, UsersSettings } from '../deps.ts'
import { type View, viewOf } from './authorize.ts'
import { readId } from './id.ts'

/** A pair, because an object would move names that look like numbers to the front. */
export type DocumentMember = readonly [name: string, value: unknown]

/** The current revision of a document. Users have no conflicting revisions. */
export interface VisibleDocument {
  readonly id: string
  readonly revision: string
  readonly ancestors: Ancestors
  readonly isDeleted: boolean
  readonly members: readonly DocumentMember[]
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

function findMembers(user: User, reader: Identity, deps: UsersDeps) {
  const settings = deps.settings()
  const view = viewOf(reader, user.name, settings)
  if (view === 'none') return undefined
  const members = MEMBERS_OF[view](user, settings)
  return members.length === 0 ? undefined : { members, view }
}

/** Never public, not even if `public_fields` lists them: they allow an offline attack on the password. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([...PASSWORD_MEMBERS, 'password', TOTP_MEMBER])

/** All members except `_id` and `_rev`. The stored password comes first, as in CouchDB. */
function toMembers({ name, password, document }: User): readonly DocumentMember[] {
  const isOther = ([member]: DocumentMember) => !DOCUMENT_MEMBERS.has(member) && !PASSWORD_MEMBERS.has(member)
  return [
    ...Object.entries(toDocumentMembers(password)),
    ['name', name],
    ['type', 'user'],
    ['roles', document.roles],
    ...document.members.filter(isOther),
  ]
}

const toOwnMembers = (user: User): readonly DocumentMember[] => {
  const totp = findTotp(user)
  if (totp === undefined) return toMembers(user)
  return toMembers(user).map(([name, value]) => (name === TOTP_MEMBER ? [name, maskTotp(totp)] : [name, value]))
}

const toPublicMembers = (user: User, { chttpd_auth }: UsersSettings): readonly DocumentMember[] =>
  toMembers(user).filter(([member]) => chttpd_auth.public_fields.includes(member) && !SECRET_MEMBERS.has(member))

const MEMBERS_OF: Readonly<
  Record<VisibleDocument['view'], (user: User, settings: UsersSettings) => readonly DocumentMember[]>
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

export const renderMembers = (members: readonly DocumentMember[]): string =>
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

const DESIGN_ID = '_design/_auth'

/**
 * The rules of `validate.ts` as a function for CouchDB: some tools look for it, and copies of this database use it.
 * Cardea does not run it, so it cannot be changed here.
 */
const renderFunction = (prefix: string): string => `function (doc, old, context, security) {
  if (doc._id.indexOf('_design/') === 0) return;
  var refuse = function (reason) { throw { forbidden: reason }; };
  var truth = function (value, reason) { if (!value) refuse(reason); };
  var holds = function (list, item) { return (list || []).indexOf(item) >= 0; };
  var admins = (security && security.admins) || {};
  var isServerAdmin = holds(context.roles, '_admin');
  var isAdmin = isServerAdmin || holds(admins.names, context.name) ||
    context.roles.some(function (role) { return holds(admins.roles, role); });
  if (doc._deleted === true) {
    truth(isServerAdmin || (old && context.name === old.name), 'Only admins may delete other user docs.');
    return;
  }
  truth(doc.type === 'user', 'doc.type must be user');
  truth(doc.name, 'doc.name is required');
  truth(doc.roles, 'doc.roles must exist');
  truth(Array.isArray(doc.roles), 'doc.roles must be an array');
  truth(doc.roles.every(function (role) { return typeof role === 'string'; }), 'doc.roles can only contain strings');
  truth(doc._id === ${JSON.stringify(prefix)} + doc.name, 'Doc ID must be of the form ' + ${JSON.stringify(prefix)} + 'name');
  var isUpdate = old && old._deleted !== true;
  truth(!isUpdate || old.name === doc.name, 'Usernames can not be changed.');
  truth(!doc.password_sha || doc.salt, 'Users with password_sha must have a salt.');
  var schemes = ['simple', 'pbkdf2', 'simple+pbkdf2'];
  truth(!doc.password_scheme || holds(schemes, doc.password_scheme), 'Password scheme \`' + doc.password_scheme + '\` not supported.');
  if (doc.password_scheme === 'pbkdf2') {
    truth(typeof doc.iterations === 'number', 'iterations must be a number.');
    truth(typeof doc.derived_key === 'string', 'derived_key must be a string.');
  }
  if (!isAdmin) {
    var bag = function (roles) { return JSON.stringify(roles.slice().sort()); };
    truth(!isUpdate || context.name === doc.name, 'You may only update your own user document.');
    truth(!isUpdate || bag(old.roles) === bag(doc.roles), 'Only _admin may edit roles');
    truth(isUpdate || doc.roles.length === 0, 'Only _admin may set roles');
  }
  doc.roles.forEach(function (role) {
    truth(role[0] !== '_' || role === '_metrics', 'No system roles (starting with underscore) in users db.');
  });
  truth(doc.name[0] !== '_', 'Username may not start with underscore.');
  truth(doc.name.indexOf(':') < 0, 'Character \`:\` is not allowed in usernames.');
}`

export function createDesignDocument(prefix: string) {
  const text = renderFunction(prefix)
  return {
    revision: nextRevision(undefined, text),
    members: [['language', 'javascript'] as const, ['validate_doc_update', text] as const],
  }
}
