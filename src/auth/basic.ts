// Basic: a name with its password or, in place of the password, an access token. The sign-in of the multi-model door
// accepts access tokens too.
import { type Clock, nowSeconds } from '../base/clock.ts'
import { readBase64, readUtf8 } from '../base/encoding.ts'
import { Refusal } from '../base/errors.ts'
import { findActiveToken, findScope, findTokenUser, hasToken, toTokenMark } from '../directory/access-token.ts'
import { type Account, needsSecondStep } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { Credential, CredentialKind } from '../directory/identity.ts'
import { checkName } from '../directory/users/names.ts'
import type { AccessToken } from '../directory/users/user.ts'
import { checkIterations } from '../passwords/hash-policy.ts'
import type { DoorAttempt, DoorKnownHeaders, DoorSignIn } from './door-sign-in.ts'
import {
  ABSENT,
  accept,
  type CredentialHandler,
  type CredentialSource,
  type RefusedCredential,
  reject,
} from './handler.ts'

/** The password of a user, sent with every request. */
export const PASSWORD: CredentialKind = {
  name: 'password',
  sentByBrowser: 'header',
  provesPassword: 'itself',
  isStillAccepted: ({ isAdmin, password }, _credential, limits) =>
    isAdmin || checkIterations(password, limits) === undefined,
}

/** `undefined`: wrong name or password. */
export type CheckPassword = (name: string, password: string, source: CredentialSource) => Promise<Verified | undefined>

/** How a door reads a Basic header. */
export interface BasicForm {
  readonly name: string
  /** The encoded part, or `undefined` where the header is not this form. */
  findCredential(header: string): string | undefined
  /** `undefined`: it cannot be decoded. */
  decode(encoded: string): Uint8Array | undefined
  /** Whether a request with this pair is anonymous. */
  readonly isAnonymous: (name: string, password: string) => boolean
}

/**
 * quirk: reference document 1.2: the scheme is spelled exactly so, with one space, and padding is required. The pair
 * `_:_` means anonymous, which is how a browser is made to forget a password.
 */
export const DOCUMENT_BASIC: BasicForm = {
  name: 'default',
  findCredential: (header) => (header.startsWith('Basic ') ? header.slice(6) : undefined),
  decode: (encoded) => readBase64(encoded),
  isAnonymous: (name, password) => name === '_' && password === '_',
}

/** The scheme in any case, then blanks; padding may be absent. */
export const MULTI_MODEL_BASIC: BasicForm = {
  name: 'basic',
  findCredential: (header) => /^basic +(.*)$/i.exec(header)?.[1],
  decode: (encoded) => readBase64(encoded, 'lax'),
  isAnonymous: () => false,
}

/** At the document door an access token needs its user's name beside it. */
export const createDocumentCheck =
  (deps: AccessTokenDeps): CheckPassword =>
  async (name, password, source) => {
    const attempt = { name, password, source, handler: DOCUMENT_BASIC.name }
    if (name !== '') return verifyPasswordOrToken(deps, attempt)
    const account = await deps.signIn(attempt)
    return account && { account, token: undefined }
  }

export interface BasicPair {
  readonly name: string
  readonly password: string
}

/** The name and password of a header, or why it is rejected. `undefined`: not a Basic credential of this form. */
export function readBasic(
  header: string,
  form: BasicForm,
): BasicPair | 'credential_malformed' | 'credential_refused' | undefined {
  const encoded = form.findCredential(header)
  if (encoded === undefined) return undefined
  const bytes = form.decode(encoded)
  if (bytes === undefined) return 'credential_malformed'
  const text = readUtf8(bytes)
  if (text === undefined) return 'credential_refused'
  const colon = text.indexOf(':')
  if (colon < 0) return undefined
  const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
  return form.isAnonymous(name, password) ? undefined : { name, password }
}

/**
 * A header of this form is accepted or rejected; the next handler is never asked. `knownHeaders` accepts headers that were
 * accepted before.
 */
export function createBasicHandler(
  form: BasicForm,
  check: CheckPassword,
  knownHeaders?: DoorKnownHeaders,
): CredentialHandler {
  const byPassword: Credential = Object.freeze({ kind: PASSWORD, handler: form.name })
  const checkPair = async ({ name, password }: BasicPair, source: CredentialSource, header: string) => {
    const checked = await check(name, password, source)
    if (!checked) return { ...refused('credential_refused'), isRecorded: true } as const
    if (checked.token) return accept(checked.account, toTokenCredential(checked.token, form.name))
    // an access token or an address is looked up each time: it can be taken away while the password stays
    if (checked.account.name === name) knownHeaders?.remember(header, checked.account)
    return accept(checked.account, byPassword)
  }
  return {
    name: form.name,
    kinds: [PASSWORD, ACCESS_TOKEN],
    read(source) {
      const header = source.header('authorization')
      if (header === undefined) return ABSENT
      const known = knownHeaders?.find(header, source)
      if (known) return accept(known, byPassword)
      const given = readBasic(header, form)
      if (given === undefined) return ABSENT
      return typeof given === 'string' ? refused(given) : () => checkPair(given, source, header)
    },
  }
}

const refused = (code: 'credential_malformed' | 'credential_refused'): RefusedCredential =>
  reject(new Refusal(code, { reason: 'Authorization header has invalid base64 value' }))

/** An access token in place of the password. */
export const ACCESS_TOKEN: CredentialKind = {
  name: 'access token',
  sentByBrowser: 'header',
  isStillAccepted: (account, { accessToken = '' }) => hasToken(account, accessToken),
}

export const toTokenCredential = (token: AccessToken, handler: string): Credential => ({
  kind: ACCESS_TOKEN,
  handler,
  expiresAt: token.validUntil,
  scope: findScope(token),
  accessToken: toTokenMark(token),
})

export interface AccessTokenDeps {
  readonly directory: Pick<Directory, 'findAccount' | 'findSignInName'>
  readonly signIn: DoorSignIn
  readonly clock: Clock
  /** Whether the access token of a user with a second factor is refused even with a one-time code. */
  readonly ignoresCode?: true
}

export interface Verified {
  readonly account: Account
  /** The access token that was sent in place of the password. */
  readonly token: AccessToken | undefined
}

/** Verifies a password or an access token. With an access token the name may be empty. */
export async function verifyPasswordOrToken(
  deps: AccessTokenDeps,
  attempt: DoorAttempt,
): Promise<Verified | undefined> {
  const isToken = findTokenUser(attempt.password) !== undefined
  const byToken = isToken ? await findByToken(deps, attempt) : undefined
  // without a second factor the token is enough: checking it as a password would cost a hash and count a failure
  if (byToken && !needsSecondStep(byToken.account)) return byToken
  // a wrong token and an impossible name are failures like any other, and count for the limits of the peer
  const name = byToken?.account.name ?? (attempt.name || (findTokenUser(attempt.password) ?? ''))
  const isProven = (account: Account) =>
    findActiveToken(account, attempt.password, nowSeconds(deps.clock)) !== undefined
  const { code: _code, ...withoutCode } = attempt
  const byTokenOnly = deps.ignoresCode ? withoutCode : attempt
  const account = await deps.signIn(byToken ? { ...byTokenOnly, name, isProven } : { ...attempt, name })
  const isNamed = byToken !== undefined || attempt.name !== ''
  return account && isNamed ? { account, token: byToken?.token } : undefined
}

/** A user with a second factor needs its code too. */
async function findByToken({ directory, clock }: AccessTokenDeps, { name, password }: DoorAttempt) {
  const user = findTokenUser(password)
  if (
    user === undefined ||
    (name !== '' && (await directory.findSignInName(name)) !== user) ||
    checkName(user) !== undefined
  )
    return undefined
  const account = await directory.findAccount(user)
  if (!account || account.isAdmin) return undefined
  const token = findActiveToken(account, password, nowSeconds(clock))
  return token && { account, token }
}
