// What the operations return, also for the console.
import { flag, integer, listOf, nullable, object, type Static, text } from '../../dialects/admin-api/schemas/schema.ts'
import { NEW_GRANT } from '../../dialects/admin-api/schemas/users.ts'

export const ADDRESS = object({
  address: nullable(text(), 'The verified address; null: none.'),
  canSend: flag('Whether the server sends messages.'),
})
export type AddressView = Static<typeof ADDRESS>

/** The reply to a request for a message. It must not show whether the address has an account. */
export const REQUESTED = object({
  requested: flag('Always true: it does not show whether the address has an account.'),
})

export const ADDRESS_OWNER = object({ name: text('The user.'), address: text() })

export const NO_NAME = 'null: the person chooses it.'

export const INVITATION_LIST = object({
  invitations: listOf(
    object({
      address: text(),
      name: nullable(text(), NO_NAME),
      roles: listOf(text()),
      grants: listOf(NEW_GRANT),
      expiresAt: integer('Seconds since the epoch.'),
    }),
  ),
  canSend: flag('Whether the server sends messages.'),
})
export type InvitationListView = Static<typeof INVITATION_LIST>

export const WAITING_LIST = object({
  messages: listOf(
    object({
      id: integer(),
      message: text('Which one.'),
      address: text(),
      attempts: integer(),
      nextAt: nullable(integer('Seconds since the epoch.'), 'null: it is being sent, or will be at once.'),
      problem: text('Why the last attempt failed; empty: none has.'),
    }),
  ),
})
export type WaitingListView = Static<typeof WAITING_LIST>
