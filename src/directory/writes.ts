/** What the directory writes. Operations have only the reading half of the store, so none can write without asking. */
import type { RecordGuard } from '../observe/security-events.ts'
import { type Caller, requireChange } from './caller.ts'
import type { Administration } from './deps.ts'
import type { Authenticated } from './identity.ts'
import type { EndedSessions } from './sessions/ended-sessions.ts'
import type { Store } from './store-port/store.ts'
import type { WriteRecord } from './users/user-writer.ts'

export type StoreReader = Pick<Store, Extract<keyof Store, `${'find' | 'list' | 'count' | 'search'}${string}`>>
export type AdministrationReader = Pick<Administration, 'accounts' | 'changedAt' | 'position' | 'refresh'>
export type EndedReader = Pick<EndedSessions, 'has' | 'count' | 'findSuccessor'>

export interface Writes {
  readonly store: Store
  readonly administration: Administration
  readonly ended: EndedSessions
  readonly writeRecord: WriteRecord
}

/** What is stored even if it cannot be recorded. */
type Unrecorded =
  /** Users and administrators must always be able to end sessions. */
  'end of sessions'

/** What also confirms no credential. */
type Unasked =
  /** The owner of a session gives it up, or a limit ends it. With a revoked credential, too, it must not live on. */
  | 'sign-out'
  /** A one-time code, a recovery code or a renewal token is used up: it is the credential that is being checked. */
  | 'sign-in'
  /** A password that was just verified gets another stored form. */
  | 'hash upgrade'
  /** When something was last used. No right depends on it. */
  | 'note'

export const createBegin = (writes: Writes, guard: RecordGuard) => ({
  /** Every change begins here. Returns what can be written, and the confirmed credential of the caller. */
  async begin(
    caller: Caller,
    unrecorded?: Unrecorded,
  ): Promise<Writes & { readonly confirmed: Authenticated | undefined }> {
    return { ...writes, confirmed: await (unrecorded ? caller.confirm() : requireChange(caller, guard)) }
  },
  beginUnasked: (_reason: Unasked): Writes => writes,
})
