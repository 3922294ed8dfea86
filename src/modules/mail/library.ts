import type { GrantLevel } from '../../directory/users/user.ts'
import type { ClientOptions, RunOperation } from '../module.ts'
import { MAIL_OPERATIONS as MAIL } from './operations.ts'

export interface OwnedAddress {
  /** The user. */
  readonly name: string
  readonly address: string
}

export interface Invitation {
  readonly address: string
  /** Left out: the person chooses it. */
  readonly name?: string
  readonly roles?: readonly string[]
  /** Levels by database. */
  readonly grants?: Readonly<Record<string, GrantLevel>>
}

/** Messages to users, and the links in them. Where `mail.url` is empty, those that send something throw `bad_request`. */
export interface Mail {
  /** Sends a link, if the address is that of a user. Throws `too_many_requests` for the mailbox. */
  requestPasswordReset(address: string): Promise<void>
  /** Returns the name of the user. Throws `not_found` if the link is not valid, `password_refused` for the password. */
  confirmPasswordReset(token: string, password: string, options?: ClientOptions): Promise<string>
  /** Sends a link to the address, with which it becomes that of the user. */
  requestAddress(user: string, address: string): Promise<void>
  /** Throws `not_found` if the link is not valid, `conflict` if another user has the address. */
  confirmAddress(token: string, options?: ClientOptions): Promise<OwnedAddress>
  /** As verified; `null` removes it. */
  setAddress(user: string, address: string | null): Promise<void>
  /** Throws `conflict` for a name or an address that a user has. */
  invite(invitation: Invitation): Promise<void>
}

export const createMail = (run: RunOperation): { readonly mail: Mail } => ({
  mail: {
    async requestPasswordReset(address) {
      await run(MAIL['account.request-password-reset'], { body: () => ({ address }) })
    },
    async confirmPasswordReset(token, password, from) {
      const given = { body: () => ({ token, password }), from, calledAs: 'mail.confirmPasswordReset' }
      return (await run(MAIL['account.confirm-password-reset'], given)).name
    },
    async requestAddress(user, address) {
      await run(MAIL['account.request-address'], { user, body: () => ({ address }) })
    },
    async confirmAddress(token, from) {
      return run(MAIL['account.confirm-address'], { body: () => ({ token }), from, calledAs: 'mail.confirmAddress' })
    },
    async setAddress(name, address) {
      await run(MAIL['user.set-address'], { params: { name }, body: () => ({ address }) })
    },
    async invite({ grants = {}, ...invitation }) {
      const list = Object.entries(grants).map(([database, level]) => ({ database, level }))
      await run(MAIL['invitation.add'], { body: () => ({ ...invitation, grants: list }) })
    },
  },
})
