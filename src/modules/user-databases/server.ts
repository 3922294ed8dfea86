// What the code for both database servers shares.
import { Refusal } from '../../base/errors.ts'
import { CARDEA } from '../../directory/identity.ts'
import type { AskedDatabase } from '../module.ts'
import type { Claim } from './wishes.ts'

/** What Cardea does with the database of one user. Each may be repeated. */
export interface UserDatabaseServer {
  /** Throws if it has to be tried again. */
  create(database: string, user: string, how: Creation): Promise<Created>
  /** Takes the database from a user that was deleted. */
  keep(database: string, user: string): Promise<Taken>
  /** Removes the database of a user that was deleted, if it was its own. */
  remove(database: string, user: string): Promise<Taken>
  /** The names of all databases that begin so. */
  list(prefix: string): Promise<readonly string[]>
}

/** `refused` has the reason why an administrator has to decide. `had`: the user had the database already. */
export type Created =
  | { readonly state: 'refused'; readonly reason: string }
  | { readonly state: 'given' | 'had'; readonly reason?: undefined }

export const refuse = (reason: string): Created => ({ state: 'refused', reason })

export interface Creation {
  readonly claim: Claim
  readonly shards: number
  /** The server may still be busy with an earlier attempt to create it. */
  readonly mayBeHalfMade: boolean
  /** Called before the user may write: another attempt must not take that for the data of an earlier user. */
  readonly onAccepted?: () => Promise<void>
}

/** What was done with the database of a deleted user; `undefined`: there was nothing to do. */
export type Taken = 'kept' | 'removed' | undefined

/** `_security` may list many names. */
const MAX_REPLY_BYTES = 1024 * 1024

export type Method = 'PUT' | 'POST' | 'DELETE'
export type Ask = (path: string, method?: Method, body?: object) => ReturnType<AskedDatabase['askAs']>

/** After the signal nothing is sent any more: another attempt may have begun, and finished. */
export const createAsk =
  (database: Pick<AskedDatabase, 'askAs'>, signal?: AbortSignal): Ask =>
  async (path, method, body) => {
    signal?.throwIfAborted()
    const more = { ...(signal && { signal }), ...(method && { method }), ...(body && { body }) }
    return database.askAs(CARDEA, { path, maxBytes: MAX_REPLY_BYTES, ...more })
  }

/** The list of names that a server has returned. */
export function requireNames(server: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value
  throw new Refusal('upstream_failed', { detail: `${server} returned no list of names` })
}
