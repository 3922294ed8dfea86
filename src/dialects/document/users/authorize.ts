import { Refusal } from '../../../base/errors.ts'
import type { Identity } from '../../../directory/identity.ts'
import type { User } from '../../../directory/user.ts'
import type { UsersSettings } from './deps.ts'
import type { DocumentId } from './id.ts'

export type PathRule = 'open' | 'admin'

/** What a path below the database asks of the caller, before any endpoint looks at it. */
export function usersRule(method: string, rest: readonly string[], settings: UsersSettings): PathRule {
  const [first] = rest
  if (first === undefined) return method === 'PUT' || method === 'DELETE' ? 'admin' : 'open'
  if (first === '_all_docs') return isListed(settings) ? 'open' : 'admin'
  if (first === '_changes' || first === '_local' || first.startsWith('_local/')) return 'admin'
  return 'open'
}

/** Others have something to see of user documents at all. */
const isListed = ({ isPublic, publicFields }: UsersSettings): boolean => isPublic && publicFields.length > 0

export type View = 'whole' | 'public' | 'none'

/** How much of the document of `name` somebody sees. */
export function viewOf(who: Identity, name: string, settings: UsersSettings): View {
  if (who.isAdmin || who.name === name) return 'whole'
  return isListed(settings) ? 'public' : 'none'
}

const isAnonymous = ({ name, isAdmin }: Identity): boolean => name === null && !isAdmin

/** Before the body of a bulk read is read: an anonymous client sees nothing unless something is public. */
export function requireBulkReader(who: Identity, settings: UsersSettings): void {
  if (isAnonymous(who) && !isListed(settings)) throw new Refusal('authentication_required')
}

/** Before a document is read whose id is in the body: an anonymous client may only sign up. */
export function requireSender(who: Identity, settings: UsersSettings): void {
  if (isAnonymous(who) && !settings.allowsSignUp) throw new Refusal('authentication_required')
}

/** Who may try to write a document at all. To others it looks as if it were not there. */
export function requireWriter(who: Identity, target: DocumentId, settings: UsersSettings): void {
  if (who.isAdmin) return
  if (who.name === null && !settings.allowsSignUp) throw new Refusal('authentication_required')
  if (target.kind === 'design') throw new Refusal('forbidden', { about: 'You are not a db or server admin.' })
  if (target.kind === 'local') throw new Refusal('admin_required')
  if (who.name !== null && (target.kind !== 'user' || target.name !== who.name)) throw new Refusal('not_found')
}

export interface OwnChange {
  readonly old: User | undefined
  readonly isDeletion: boolean
  /** The password itself, in clear or as a hash, or the second factor beside it. */
  readonly setsPassword: boolean
  /** Whether what is sent of the stored password is what is there: nothing, where there was nobody. */
  readonly keepsPassword: boolean
}

/** Whether a change needs a credential that has proved the password. */
export function needsPassword({ name, isAdmin }: Identity, { old, isDeletion, setsPassword }: OwnChange): boolean {
  if (name === null || (!isDeletion && !setsPassword)) return false
  return !isAdmin || name === old?.name
}

/** What a user who is no administrator may do to their own document, or to the one they sign up with. */
export function requireOwnChange(identity: Identity, change: OwnChange, settings: UsersSettings): void {
  if (identity.isAdmin) return
  const { old, isDeletion, keepsPassword } = change
  if (!old && !settings.allowsSignUp) throw forbidden('Only _admin may create user documents.')
  if (!isDeletion && !keepsPassword) throw forbidden('Only _admin may change the members of a stored password.')
}

const forbidden = (about: string): Refusal => new Refusal('forbidden', { about })
