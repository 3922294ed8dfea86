/** Creates, replaces and deletes user documents. */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { requireNoAction } from '../../../auth/required-actions.ts'
import { badRequest, Refusal } from '../../../base/errors.ts'
import { type Identity, identityOf } from '../../../directory/identity.ts'
import { readTotp, unmaskTotp } from '../../../directory/second-factor/totp.ts'
import { DOCUMENT_MEMBERS } from '../../../directory/users/fields.ts'
import { findTotp, type Json, type NewPassword, TOTP_MEMBER, type User } from '../../../directory/users/user.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import {
  NO_PASSWORD,
  PASSWORD_MEMBERS,
  readDocumentPassword,
  type StoredPassword,
  toDocumentMembers,
} from '../../../passwords/schemes.ts'
import { requireExactBody, requireJsonType, toDocumentReply } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import {
  isOwn,
  needsPassword,
  type OwnChange,
  requireOwnChange,
  requireOwnOrNew,
  requireSender,
  requireWriter,
} from './authorize.ts'
import { findVisible } from './document.ts'
import { type DocumentId, readId, toPath } from './id.ts'
import { readFlag } from './query.ts'
import { readRequestRevision, readSent, requireCurrent, type SentDocument } from './sent.ts'
import { checkProposal } from './validate.ts'

export async function putDocument(context: RequestContext, id: string, deps: UsersDeps): Promise<Reply> {
  if (!readFlag(context.query, 'new_edits', true)) throw new Refusal('forbidden', { reason: CLOSED_TO_REPLICATION })
  requireWriter(identityOf(context), readId(id, deps.prefix), deps.settings())
  return write(context, { id, sent: readSent(await requireExactBody(context)) }, deps)
}

/** Cardea makes the revisions itself: a replicated one could undo a change made here, such as a revoked session. */
export const CLOSED_TO_REPLICATION =
  'Users can be replicated out of this database, not into it: write them with new_edits, or import them.'

export async function postDocument(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  requireJsonType(context)
  requireSender(identityOf(context), deps.settings())
  const sent = readSent(await requireExactBody(context))
  return write(context, { id: sent.id ?? randomBytes(16).toString('hex'), sent }, deps)
}

export async function deleteDocument(context: RequestContext, id: string, deps: UsersDeps): Promise<Reply> {
  const identity = identityOf(context)
  const document = await findVisible(deps, id, identity)
  if (!document) throw new Refusal(identity.name === null ? 'authentication_required' : 'not_found')
  if (document.isDeleted) throw new Refusal('deleted')
  return write(context, { id, sent: { id, revision: undefined, isDeletion: true, members: new Map() } }, deps)
}

async function write(context: RequestContext, { id, sent }: Edit, deps: UsersDeps): Promise<Reply> {
  const revision = readRequestRevision(context, sent.revision)
  const { rev } = await writeUserDocument(context, { id, sent: { ...sent, revision } }, deps)
  const tag = ['ETag', `"${rev}"`] as const
  const location = ['Location', toPath(deps.database, id)] as const
  return toDocumentReply(sent.isDeletion ? 200 : 201, { ok: true, id, rev }, sent.isDeletion ? [tag] : [tag, location])
}

export interface Edit {
  readonly id: string
  readonly sent: SentDocument
}

/** An edit, with the stored user it replaces and the password that was sent. */
interface Update extends Edit {
  readonly old: User | undefined
  readonly password: SentPassword
}

/** Writes one document after all checks of the writer, the id, the revision and the content. */
export async function writeUserDocument(
  context: RequestContext,
  { id, sent: given }: Edit,
  deps: UsersDeps,
): Promise<{ readonly id: string; readonly rev: string }> {
  const writer = identityOf(context)
  const target = readId(id, deps.prefix)
  requireWriter(writer, target, deps.settings())
  requireWritable(target)
  requireSize({ id, sent: given }, writer)
  const password = readSentPassword(given.members)
  if (password.kind !== 'new') requireNoAction(writer)
  const record = target.kind === 'user' ? await deps.directory.findRecord(target.name) : undefined
  const old = record?.kind === 'user' ? record : undefined
  requireOwnOrNew(writer, target, old)
  requireCurrent(given.revision, record)
  const sent = withStoredKey(given, old)
  const update = { id, sent, password, old }
  const change = requireAllowed(update, writer, deps)
  if (needsPassword(writer, change)) await deps.requirePassword(context)
  if (changesSecondFactor(sent, old)) requireReadableTotp(sent)
  return { id, rev: await store(context, update, deps) }
}

function requireWritable({ kind, id }: DocumentId): void {
  if (kind === 'design')
    throw new Refusal('forbidden', { reason: 'Design documents of this database cannot be changed.' })
  if (id === '') throw new Refusal('document_id_invalid', { reason: 'Document id must not be empty' })
  if (id.startsWith('_'))
    throw new Refusal('document_id_invalid', { reason: 'Only reserved document ids may start with underscore.' })
}

/** Bounded because every node caches documents in memory. */
const MAX_BYTES = { admin: 1_048_576, other: 65_536 } as const

function requireSize({ id, sent }: Edit, { isAdmin }: Identity): void {
  const max = isAdmin ? MAX_BYTES.admin : MAX_BYTES.other
  if (Buffer.byteLength(JSON.stringify([...sent.members])) > max) throw new Refusal('document_too_large', { value: id })
}

function requireAllowed({ id, sent, old, password }: Update, writer: Identity, deps: UsersDeps): OwnChange {
  const { isDeletion, members } = sent
  const isKept = keepsPassword(password, old)
  const problem = checkProposal({
    id,
    prefix: deps.prefix,
    isDeletion,
    members,
    old,
    // a new password replaces the stored one, so that one is not checked
    keepsPassword: password.kind === 'new' || isKept,
    writer,
  })
  if (problem !== undefined) throw new Refusal('forbidden', { reason: problem })
  const setsPassword = password.kind === 'new' || !isKept || changesSecondFactor(sent, old)
  const change = {
    old,
    isDeletion,
    isOwn: isOwn(writer, readId(id, deps.prefix)),
    setsPassword,
    keepsPassword: isKept,
  }
  requireOwnChange(writer, change, deps.settings())
  return change
}

/** Users see a mask in place of the key of their second factor, and send it back with the document. */
function withStoredKey(sent: SentDocument, old: User | undefined): SentDocument {
  const totp = sent.members.get(TOTP_MEMBER)
  if (totp === undefined || !old) return sent
  // parsed from JSON
  const members = new Map(sent.members).set(TOTP_MEMBER, unmaskTotp(totp as Json, findTotp(old)))
  return { ...sent, members }
}

const changesSecondFactor = ({ members }: SentDocument, old: User | undefined): boolean =>
  JSON.stringify(members.get(TOTP_MEMBER)) !== JSON.stringify(old && findTotp(old))

/** A `totp` that cannot be read rejects every code: its user could not sign in again. */
function requireReadableTotp({ isDeletion, members }: SentDocument): void {
  const totp = members.get(TOTP_MEMBER)
  // parsed from JSON
  if (isDeletion || totp === undefined || readTotp(totp as Json)) return
  throw badRequest(TOTP_EXPECTED)
}

const TOTP_EXPECTED =
  'totp must be an object: key in base32 (upper case, padded with =), algorithm sha, sha224, sha256, sha384 or sha512, length 6, 7 or 8.'

/** Returns the new revision. */
async function store(context: RequestContext, update: Update, { directory, signUp }: UsersDeps): Promise<string> {
  const { sent, old } = update
  if (sent.isDeletion) {
    if (!old) throw new Refusal('not_found')
    return directory.removeUser(old.name, context, old.document.revision)
  }
  const newPassword = toNewPassword(update.password, old)
  const password = newPassword ? { password: newPassword } : {}
  const document = toStoredMembers(sent, update.password)
  if (!old) {
    // `checkProposal` requires a string
    const name = sent.members.get('name') as string
    const create = () => directory.createUser({ name, ...document, ...password }, context)
    const created = await (identityOf(context).isAdmin ? create() : signUp(context, create))
    return created.document.revision
  }
  const change = (user: User): User => ({ ...user, document: { ...user.document, ...document } })
  const expected = old.document.revision
  const changed = await directory.changeUser(old.name, context, change, { expected, ...password })
  return changed.document.revision
}

/** The roles, and the members that have no field of their own in a user. */
function toStoredMembers({ members }: SentDocument, password: SentPassword) {
  // parsed from JSON, and checked by `checkProposal`
  const others = [...members] as [string, Json][]
  return {
    roles: members.get('roles') as readonly string[],
    members: others.filter(([name]) => !DOCUMENT_MEMBERS.has(name) && !isPasswordMember(name, password)),
  }
}

type MemberMap = ReadonlyMap<string, unknown>

/** The password in a document that was sent. */
type SentPassword =
  /** Plain text, to be hashed. `salt`: to be used instead of a new one. */
  | { readonly kind: 'new'; readonly password: string; readonly salt: string | undefined }
  /** A hash: the stored one, or one from another server. */
  | { readonly kind: 'stored'; readonly stored: StoredPassword }

/** A plain-text password replaces a hash in the same document. */
function readSentPassword(members: MemberMap): SentPassword {
  const password = members.get('password') ?? undefined
  if (password === undefined) return { kind: 'stored', stored: readDocumentPassword(Object.fromEntries(members)) }
  if (typeof password !== 'string') throw new Refusal('forbidden', { reason: toInvalid(password) })
  const salt = members.get('preserve_salt') === true ? members.get('salt') : undefined
  if (salt === undefined || typeof salt === 'string') return { kind: 'new', password, salt }
  throw new Refusal('forbidden', { reason: 'salt must be a string to be preserved.' })
}

// quirk: reference document 8.7: the value is quoted. Lists and objects are abbreviated.
const toInvalid = (password: unknown): string =>
  `Password value of '${typeof password === 'object' ? (Array.isArray(password) ? '[...]' : '{...}') : String(password)}' is invalid.`

/** Whether the members of the stored password are unchanged. A new plain-text password may replace them. */
function keepsPassword(sent: SentPassword, old: User | undefined): boolean {
  if (sent.kind === 'new') return sent.salt === undefined || sent.salt === saltOf(old)
  const [given, stored] = [sent.stored, old?.password ?? NO_PASSWORD].map(toDocumentMembers)
  return isDeepStrictEqual(given, stored)
}

const saltOf = (user: User | undefined): string | undefined =>
  user && 'salt' in user.password ? user.password.salt : undefined

/** The password to store; `undefined` keeps the stored one. */
function toNewPassword(sent: SentPassword, old: User | undefined): NewPassword | undefined {
  if (sent.kind === 'new') return { password: sent.password, ...(sent.salt === undefined ? {} : { salt: sent.salt }) }
  return keepsPassword(sent, old) ? undefined : { stored: sent.stored }
}

const SENT_MEMBERS: ReadonlySet<string> = new Set(['password', 'preserve_salt'])

/** Whether a member belongs to the password and is not stored with the others. */
const isPasswordMember = (name: string, sent: SentPassword): boolean =>
  PASSWORD_MEMBERS.has(name) || (sent.kind === 'new' && SENT_MEMBERS.has(name))
