import type { ClientOptions, RunOperation } from '../module.ts'
import { PASSWORD_LINK_OPERATIONS as LINKS } from './operations.ts'

export interface PasswordLink {
  /** A page of the console; begins with `console.public-url`. */
  readonly url: string
  /** The secret of the link, for a page of your own that calls `use`. */
  readonly token: string
  readonly expiresAt: Date
}

/** Links with which users set a password once, within an hour. */
export interface PasswordLinks {
  create(user: string): Promise<PasswordLink>
  /** Returns the name of the user. Throws `not_found` if the link is not valid, `password_refused` for the password. */
  use(token: string, password: string, options?: ClientOptions): Promise<string>
}

export const createPasswordLinks = (run: RunOperation): { readonly passwordLinks: PasswordLinks } => ({
  passwordLinks: {
    async create(name) {
      const { url, expiresAt } = await run(LINKS['user.create-password-link'], { params: { name } })
      return { url, token: url.slice(url.lastIndexOf('/') + 1), expiresAt: new Date(expiresAt * 1000) }
    },
    async use(token, password, from) {
      const given = { body: () => ({ token, password }), from, calledAs: 'passwordLinks.use' }
      return (await run(LINKS['password-link.use'], given)).name
    },
  },
})
