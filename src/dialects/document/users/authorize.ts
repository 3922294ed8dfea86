import { Refusal } from '../../../base/errors.ts'
import type { Identity } from '../../../directory/identity.ts'
import type { User } from '../../../directory/users/user.ts'
import type { UsersDeps, UsersSettings } from '../deps.ts'
import { adminUnless, type DocumentRight } from '../rights.ts'
import type { DocumentId } from './id.ts'

/** The list of all users is open if parts of their documents are public. */
export const listRight = ({ settings }: Pick<UsersDeps, 'settings'>): DocumentRight =>
  adminUnless(() => hasPublicFields(settings()))

/** Local documents are for administrators. `_local/x` may be encoded as one segment. */
export const ID_RIGHT: DocumentRight = adminUnless(({ match }) => !match?.params['id']?.startsWith('_local/'))

const OWN_DOCUMENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT'])

/** A client reads its own document to change the password in it. */
export const documentRight = ({ prefix }: Pick<UsersDeps, 'prefix'>): DocumentRight => ({
  ...ID_RIGHT,
  isBeforeRequiredActions: ({ method, match }, { name }) =>
    OWN_DOCUMENT_METHODS.has(method) && match?.params['id'] === `${prefix}${name}`,
})

/** Whether parts of user documents are public. */
const hasPublicFields = ({ chttpd_auth: auth }: UsersSettings): boolean =>
  auth.users_db_public && auth.public_fields.length > 0

/** `own`: whole, with the key of the second factor masked. */
export type View = 'whole' | 'own' | 'public' | 'none'

/** How much of the document of `name` the reader may see. */
export function viewOf(reader: Identity, name: string, settings: UsersSettings): View {
  if (reader.isAdmin) return 'whole'
  if (reader.name === name) return 'own'
  return hasPublicFields(settings) ? 'public' : 'none'
}

const isAnonymous = ({ name, isAdmin }: Identity): boolean => name === null && !isAdmin

/** Rejects an anonymous bulk read before its body is read, if nothing is public. */
export function requireBulkReader(reader: Identity, settings: UsersSettings): void {
  if (isAnonymous(reader) && !hasPublicFields(settings)) throw new Refusal('authentication_required')
}

/** Rejects an anonymous POST before its body is read, if sign-up is closed. */
export function requireSender(writer: Identity, settings: UsersSettings): void {
  if (isAnonymous(writer) && !settings.chttpd_auth.allow_sign_up) throw new Refusal('authentication_required')
}

/** Users may write only their own document, and with sign-up that of a new user. */
export function requireWriter(writer: Identity, target: DocumentId, settings: UsersSettings): void {
  if (writer.isAdmin) return
  if (writer.name === null && !settings.chttpd_auth.allow_sign_up) throw new Refusal('authentication_required')
  if (target.kind === 'design') throw new Refusal('forbidden', { reason: 'You are not a db or server admin.' })
  if (target.kind === 'local') throw new Refusal('admin_required')
  const isPossible = isOwn(writer, target) || (settings.chttpd_auth.allow_sign_up && target.kind === 'user')
  if (writer.name !== null && !isPossible) throw new Refusal('not_found')
}

/** The documents of other users look to a user as if they did not exist. */
export function requireOwnOrNew(writer: Identity, target: DocumentId, old: User | undefined): void {
  if (old && !writer.isAdmin && writer.name !== null && !isOwn(writer, target)) throw new Refusal('not_found')
}

export const isOwn = ({ name }: Identity, target: DocumentId): boolean => target.kind === 'user' && target.name === name

export interface OwnChange {
  readonly old: User | undefined
  readonly isDeletion: boolean
  /** Whether it is the document of the writer. */
  readonly isOwn: boolean
  /** The password, in plain text or as a hash, or the second factor. */
  readonly setsPassword: boolean
  /** Whether the sent members of the stored password equal the stored ones. A new user has none. */
  readonly keepsPassword: boolean
}

/** Whether the writer must have proved the own password for a change. */
export function needsPassword({ isAdmin }: Identity, change: OwnChange): boolean {
  if (!change.isOwn || (!change.isDeletion && !change.setsPassword)) return false
  return !isAdmin || change.old !== undefined
}

/** What users may change in their own document, and what a sign-up may contain. Administrators may do everything. */
export function requireOwnChange(identity: Identity, change: OwnChange, settings: UsersSettings): void {
  if (identity.isAdmin) return
  const { old, isDeletion, keepsPassword } = change
  if (!old && !settings.chttpd_auth.allow_sign_up) throw forbidden('Only _admin may create user documents.')
  if (!isDeletion && !keepsPassword) throw forbidden('Only _admin may change the members of a stored password.')
}

const forbidden = (reason: string): Refusal => new Refusal('forbidden', { reason })
