/** The messages that users ask for, and that wait in the store. Notices are added with the change that they are about. */
import type { NewJob } from '../../directory/store-port/jobs.ts'
import { toAddressKey } from '../../directory/users/address.ts'
import { one, type StoreSteps, textOf } from '../../store/engine.ts'
import { toStatements } from '../../store/statements.ts'
import type { InvitationView } from '../password-links/invited.ts'

export type MailJob = 'mail.password-reset' | 'mail.verify-address' | 'mail.sign-up' | 'mail.invitation'

export interface MailPayload {
  readonly address: string
  /** The user, or the name of a new one, if the address is not its own. */
  readonly name?: string
  /** Version of the user when it was asked for: after a change, and for a later user of the name, nothing is sent. */
  readonly version?: string
  /** Whether the user asked for it, and not an administrator. */
  readonly isOwn?: boolean
  /** What an administrator has decided about a new user. */
  readonly invitation?: InvitationView
}

/** Jobs of the same key run in order: of several messages to an address, the last one has the link that is valid. */
export const toJob = (kind: MailJob, payload: MailPayload, key = toAddressKey(payload.address)): NewJob => ({
  kind,
  key,
  payload: JSON.stringify(payload),
})

const STATEMENTS = toStatements(
  { removeJobs: 'DELETE FROM cardea_jobs WHERE kind = $1 AND key >= $2 AND key < $3 RETURNING key, payload' },
  'mail.',
)

/** An end for `removeJobs`: it follows all keys that begin with the first word of this one. */
export const toKeyEnd = (key: string): string => `${key.split(' ')[0]}!`

/** Removes the jobs with keys from `from` on and before `to`, and returns them. */
export function* removeJobs(kind: string, from: string, to: string): StoreSteps<readonly NewJob[]> {
  const rows = yield one(STATEMENTS.removeJobs, kind, from, to)
  return rows.map((row) => ({ kind, key: textOf(row, 'key'), payload: textOf(row, 'payload') }))
}
