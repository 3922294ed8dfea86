/**
 * What users sign in with besides the password: the operations of the admin API, called by the program itself. The program
 * must have authenticated the user: no password is asked for here.
 */
import { renderUtcTime } from '../base/clock.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import { type Caller, type Operation, runOperation } from '../dialects/admin-api/operation.ts'
import type { AccessToken } from '../dialects/admin-api/schemas/account.ts'
import { ACCOUNT_OPERATIONS as SECRETS } from '../dialects/admin-api/users/account.ts'
import { ACCOUNT_TOKEN_OPERATIONS as TOKENS } from '../dialects/admin-api/users/account-tokens.ts'
import { PASSWORD_LINK_OPERATIONS as LINKS } from '../dialects/admin-api/users/password-links.ts'
import type { App } from '../wiring/app.ts'
import { requireMembers, requireText, toDate } from './arguments.ts'
import { withCardeaErrors } from './cardea-error.ts'
import { type ClientOptions, createEmptyRequest, readGuess } from './requests.ts'

export interface CardeaAccessToken {
  readonly name: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Exact to the minute; absent: it was not used yet. */
  readonly lastUsedAt?: Date
  /** Shows users which token it is, without revealing it. */
  readonly fingerprint: string
  readonly isActive: boolean
  /** What it is valid for; without either list, everything its user may do. */
  readonly databases?: readonly string[]
  readonly services?: readonly string[]
}

export type NewAccessToken = Pick<CardeaAccessToken, 'name' | 'expiresAt' | 'databases' | 'services'>

/** Additional passwords of users, for their programs. Administrators have none. */
export interface AccessTokens {
  /** `token` is its text, which cannot be read again. Throws `name_taken` for a name that another token of the user has. */
  create(user: string, token: NewAccessToken): Promise<CardeaAccessToken & { readonly token: string }>
  list(user: string): Promise<readonly CardeaAccessToken[]>
  /** Throws `not_found` if the user has no token of this name. */
  remove(user: string, name: string): Promise<void>
}

/** One-time codes of users and administrators. */
export interface SecondFactor {
  /** A secret for an authenticator app; show `uri` as a QR code. It takes effect when it is confirmed. */
  create(user: string): Promise<{ readonly secret: string; readonly uri: string }>
  /** Requires codes from now on, and ends all sessions and tokens. Returns the recovery codes, to be shown once. */
  confirm(user: string, given: { readonly secret: string; readonly code: string }): Promise<readonly string[]>
  remove(user: string): Promise<void>
  replaceRecoveryCodes(user: string): Promise<readonly string[]>
}

export interface PasswordLink {
  /** Of a page of the console; begins with `console.public-url`. */
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

export interface Credentials {
  readonly accessTokens: AccessTokens
  readonly secondFactor: SecondFactor
  readonly passwordLinks: PasswordLinks
}

export function createCredentials(app: App): Credentials {
  const run = createRun(app)
  return {
    accessTokens: {
      async create(user, token) {
        const { token: text, ...created } = await run(TOKENS['account.create-token'], {
          user,
          body: () => toTokenBody(token),
        })
        return { ...toToken(created), token: text }
      },
      list: async (user) => (await run(TOKENS['account.tokens'], { user })).tokens.map(toToken),
      remove: async (user, name) => void (await run(TOKENS['account.remove-token'], { user, params: { name } })),
    },
    secondFactor: {
      create: (user) => run(SECRETS['account.create-totp'], { user }),
      confirm: async (user, given) =>
        (await run(SECRETS['account.confirm-totp'], { user, body: () => given })).recoveryCodes,
      remove: async (user) => void (await run(SECRETS['account.remove-totp'], { user })),
      replaceRecoveryCodes: async (user) =>
        (await run(SECRETS['account.replace-recovery-codes'], { user })).recoveryCodes,
    },
    passwordLinks: {
      async create(name) {
        const { url, expiresAt } = await run(LINKS['user.create-password-link'], { params: { name } })
        return { url, token: url.slice(url.lastIndexOf('/') + 1), expiresAt: toDate(expiresAt) }
      },
      async use(token, password, from) {
        const given = { body: () => ({ token, password }), from, calledAs: 'passwordLinks.use' }
        return (await run(LINKS['password-link.use'], given)).name
      },
    },
  }
}

interface Given {
  /** The user that the program acts for. Left out: it acts for itself. */
  readonly user?: string
  readonly params?: Readonly<Record<string, string>>
  readonly body?: () => object
  readonly from?: ClientOptions | undefined
  /** The function that the program has called with `from`, for error messages. */
  readonly calledAs?: string
}

type Run = <R>(row: Operation<unknown, unknown, R>, given: Given) => Promise<R>

export const createRun =
  (app: App): Run =>
  (row, given) =>
    withCardeaErrors(async () => {
      const { params = {}, body, from = {}, calledAs = '' } = given
      for (const name of Object.values(params)) requireText(name, 'the name')
      requireMembers(from, 'options', ['request', 'peer'])
      const caller = 'user' in given ? { caller: await toCaller(app, given.user) } : {}
      const call = { params, query: new URLSearchParams(), body: body?.(), ...caller }
      const incoming = from.request ? readGuess(from.request, calledAs, from.peer) : createEmptyRequest()
      return app.runFor(incoming, () => runOperation(row, app.operations, call))
    })

/** The program has proved by itself who its user is. */
async function toCaller(app: App, name: unknown): Promise<Caller> {
  requireText(name, 'the name of the user')
  const identity = await app.directory.findAccount(name)
  if (!identity) throw new Refusal('not_found', { reason: `No active user has the name ${name}.` })
  const done = async () => {}
  const proofs = { requirePassword: done, requireCurrentPassword: done, reopenSession: done, repeat: done }
  return { name, identity, right: 'self', sessionId: undefined, peer: '', isOwner: false, hasAccount: true, ...proofs }
}

function toTokenBody(token: NewAccessToken): object {
  requireMembers(token, 'a token', ['name', 'expiresAt', 'databases', 'services'])
  const { expiresAt, ...given } = token
  if (!(expiresAt instanceof Date) || Number.isNaN(expiresAt.getTime())) throw badRequest('expiresAt must be a Date.')
  return { ...given, expires: renderUtcTime(Math.floor(expiresAt.getTime() / 1000)) }
}

const toToken = ({ createdAt, expiresAt, usedAt, ...token }: AccessToken): CardeaAccessToken => ({
  ...token,
  createdAt: toDate(createdAt),
  expiresAt: toDate(expiresAt),
  ...(usedAt !== undefined && { lastUsedAt: toDate(usedAt) }),
})
