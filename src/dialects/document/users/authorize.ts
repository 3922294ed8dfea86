import { Refusal } from '../../../base/errors.ts'
import type { Authenticated, Identity } from '../../../identity/identity.ts'
import type { User } from '../../../identity/user.ts'
import type { DocumentId } from './document/id.ts'
import type { UsersSettings } from './needs.ts'

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

/** Who may try to write a document at all. To others it looks as if it were not there. */
export function requireWriter(who: Identity, target: DocumentId, settings: UsersSettings): void {
  if (who.isAdmin) return
  if (who.name === null && !settings.allowsSignUp) throw new Refusal('authentication_required')
  if (target.kind === 'design') throw new Refusal('forbidden', { about: 'You are not a db or server admin.' })
  if (target.kind === 'local') throw new Refusal('admin_required')
  if (who.name !== null && (target.kind !== 'user' || target.name !== who.name)) throw new Refusal('not_found')
}

/** Handlers that saw the password, or a session that began with it. */
const PASSWORD_HANDLERS: ReadonlySet<string | null> = new Set(['default', 'cookie'])

/** A session can also have begun with a token. */
const hasShownPassword = ({ by, origin }: Authenticated): boolean => PASSWORD_HANDLERS.has(by) && origin === undefined

export interface OwnChange {
  readonly old: User | undefined
  readonly isDeletion: boolean
  /** The password itself, or the second factor beside it. */
  readonly setsPassword: boolean
  /** Whether what is sent of the stored password is what is there: nothing, where there was nobody. */
  readonly keepsPassword: boolean
}

/** What somebody who is no administrator may do to a document of their own, or to one they sign up with. */
export function requireOwnChange(who: Authenticated, change: OwnChange, settings: UsersSettings): void {
  const { identity } = who
  if (identity.isAdmin) return
  const { old, isDeletion, setsPassword, keepsPassword } = change
  if (!old && !settings.allowsSignUp) throw forbidden('Only _admin may create user documents.')
  const isGrave = isDeletion || setsPassword
  if (isGrave && identity.name !== null && !hasShownPassword(who)) {
    throw forbidden('Sign in with the password to change it, or to delete the user document.')
  }
  if (!isDeletion && !keepsPassword) throw forbidden('Only _admin may change the members of a stored password.')
}

const forbidden = (about: string): Refusal => new Refusal('forbidden', { about })
