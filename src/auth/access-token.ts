// An access token in place of the password: in Basic at both doors, and at the sign-in of the multi-model door.
import { type Clock, nowSeconds } from '../base/clock.ts'
import { findActiveToken, findScope, findTokenUser, hasToken, toTokenMark } from '../directory/access-token.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { Credential, CredentialKind } from '../directory/identity.ts'
import { checkName } from '../directory/users/names.ts'
import type { AccessToken } from '../directory/users/user.ts'
import type { DoorAttempt, DoorSignIn } from './door-sign-in.ts'

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
  readonly directory: Pick<Directory, 'findAccount'>
  readonly signIn: DoorSignIn
  readonly clock: Clock
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
  if (byToken && byToken.account.totp === undefined) return byToken
  // a wrong token and an impossible name are failures like any other, and count for the limits of the peer
  const name = byToken?.account.name ?? (attempt.name || (findTokenUser(attempt.password) ?? ''))
  const isProven = (account: Account) =>
    findActiveToken(account, attempt.password, nowSeconds(deps.clock)) !== undefined
  const account = await deps.signIn(byToken ? { ...attempt, name, isProven } : { ...attempt, name })
  const isNamed = byToken !== undefined || attempt.name !== ''
  return account && isNamed ? { account, token: byToken?.token } : undefined
}

/** A user with a second factor needs its code too. */
async function findByToken(
  { directory, clock }: AccessTokenDeps,
  { name, password }: Pick<DoorAttempt, 'name' | 'password'>,
): Promise<Verified | undefined> {
  const user = findTokenUser(password)
  if (user === undefined || (name !== '' && name !== user) || checkName(user) !== undefined) return undefined
  const account = await directory.findAccount(user)
  if (!account || account.isAdmin) return undefined
  const token = findActiveToken(account, password, nowSeconds(clock))
  return token && { account, token }
}
