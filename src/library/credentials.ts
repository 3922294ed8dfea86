/**
 * What users sign in with besides the password: the operations of the admin API, called by the program itself. The program
 * must have authenticated the user: no password is asked for here.
 */
import { renderUtcTime } from '../base/clock.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import { type Requester, runOperation } from '../dialects/admin-api/operation.ts'
import type { AccessTokenView } from '../dialects/admin-api/schemas/account.ts'
import { ACCOUNT_OPERATIONS as SECRETS } from '../dialects/admin-api/users/account.ts'
import { ACCOUNT_TOKEN_OPERATIONS as TOKENS } from '../dialects/admin-api/users/account-tokens.ts'
import { PROGRAM } from '../directory/caller.ts'
import type { LibraryMembers, RunOperation } from '../modules/module.ts'
import { createLibraryMembers } from '../modules.ts'
import type { App } from '../wiring/app.ts'
import { assertText, requireMembers, toDate } from './arguments.ts'
import { orUnknownUser, withCardeaErrors } from './cardea-error.ts'
import { createEmptyRequest, readGuess } from './requests.ts'

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
  /** It can only read its databases, at the document door. */
  readonly access?: 'ro'
}

export type NewAccessToken = Pick<CardeaAccessToken, 'name' | 'expiresAt' | 'databases' | 'services' | 'access'>

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

export interface Credentials extends LibraryMembers {
  readonly accessTokens: AccessTokens
  readonly secondFactor: SecondFactor
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
    ...createLibraryMembers(run),
  }
}

export const createRun =
  (app: App): RunOperation =>
  (row, given) =>
    withCardeaErrors(async () => {
      const { params = {}, body, from = {}, calledAs = '' } = given
      for (const name of Object.values(params)) assertText(name, 'the name')
      requireMembers(from, 'options', ['request', 'peer'])
      const requester = 'user' in given ? { requester: await toRequester(app, given.user) } : {}
      const call = { params, query: new URLSearchParams(), body: body?.(), caller: PROGRAM, ...requester }
      const incoming = from.request ? readGuess(from.request, calledAs, from.peer) : createEmptyRequest()
      const work = app.runFor(incoming, () => runOperation(row, app.operations, call))
      return params['name'] === undefined || 'user' in given ? work : orUnknownUser(params['name'], work)
    })

/** The program has proved by itself who its user is. */
async function toRequester(app: App, name: unknown): Promise<Requester> {
  assertText(name, 'the name of the user')
  const identity = await app.directory.findAccount(name)
  if (!identity) throw new Refusal('not_found', { reason: `No active user has the name ${name}.` })
  const done = async () => {}
  const proofs = { requirePassword: done, requireCurrentPassword: done, requirePasskey: done, reopenSession: done }
  const signUp: Requester['signUp'] = (create) => create()
  // the program itself has no page, so its pages are those of `passkeys.origins`
  const client = { scheme: 'http', localPort: undefined, isTrusted: false } as const
  return {
    name,
    identity,
    right: 'self',
    client,
    sessionId: undefined,
    isOwner: false,
    hasAccount: true,
    signUp,
    hasUsedPasskey: () => true,
    ...proofs,
  }
}

function toTokenBody(token: NewAccessToken): object {
  requireMembers(token, 'a token', ['name', 'expiresAt', 'databases', 'services', 'access'])
  const { expiresAt, ...given } = token
  if (!(expiresAt instanceof Date) || Number.isNaN(expiresAt.getTime())) throw badRequest('expiresAt must be a Date.')
  return { ...given, expires: renderUtcTime(Math.floor(expiresAt.getTime() / 1000)) }
}

const toToken = ({ createdAt, expiresAt, usedAt, ...token }: AccessTokenView): CardeaAccessToken => ({
  ...token,
  createdAt: toDate(createdAt),
  expiresAt: toDate(expiresAt),
  ...(usedAt !== undefined && { lastUsedAt: toDate(usedAt) }),
})
