import type { RecordGuard } from '../observe/security-events.ts'
import type { Authenticated } from './identity.ts'
import type { User } from './users/user.ts'

/** On whose behalf something is written: of a request, or of the program itself. */
export interface Caller {
  /**
   * Asked directly before a change is stored: another node may have revoked the credential since the request was
   * authenticated here. Throws if it is no longer accepted, or not with the same rights. `undefined`: there is no
   * credential.
   */
  confirm(): Promise<Authenticated | undefined>
  /** Left out for callers that may write every user they can name: administrators, users for their own account. */
  readonly mayWrite?: CheckWrite
  /** Aborted when the client disconnects: a password that is not being hashed yet is dropped. */
  readonly signal?: AbortSignal | undefined
  /** Address of the client, for its turn to have a password hashed. Left out for administrators. */
  readonly peer?: string | undefined
  /** The listener that received the request. Left out: there is none. */
  readonly door?: string
  /** The address at which it was received. Left out: there is none, as on a Unix socket. */
  readonly localAddress?: string | undefined
  /** Throws where this request would be refused if it came again now. */
  repeat?(): Promise<void>
}

/**
 * Whether the caller may write this user: throws if not. Called in the transaction of the write, again if another writer
 * was faster, with the user as it is then and as it would be; `undefined`: it would be deleted.
 */
export type CheckWrite = (before: User, after: User | undefined) => void

/** The command line, a program that uses the library, and Cardea's own work. */
export const PROGRAM: Caller = Object.freeze({ confirm: async () => undefined })

/** The caller, limited to users that the check allows. */
export const withCheck = (caller: Caller, mayWrite: CheckWrite): Caller => ({
  confirm: () => caller.confirm(),
  signal: caller.signal,
  peer: caller.peer,
  mayWrite,
})

/** The caller, who is confirmed in this way. */
export const withConfirm = ({ signal, peer, mayWrite }: Caller, confirm: Caller['confirm']): Caller => ({
  confirm,
  signal,
  peer,
  ...(mayWrite && { mayWrite }),
})

/** Called directly before a change is stored. The change must be recorded, and its caller may no longer be allowed to make it. */
export async function requireChange(caller: Caller, guard: RecordGuard): Promise<Authenticated | undefined> {
  guard.requireRecording()
  return caller.confirm()
}
