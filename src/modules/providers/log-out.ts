// Logout tokens: a provider tells that a user has signed out there (back-channel logout).
import { nowSeconds } from '../../base/clock.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { PROGRAM } from '../../directory/caller.ts'
import type { Directory } from '../../directory/directory.ts'
import { readToken, type TokenRules, type VerifiedToken } from '../../keys/verify.ts'
import { LOGOUT_TOKEN_TYPES, readLogoutClaims } from './claims.ts'
import { unavailable } from './connections.ts'
import { type Provider, verifyWithProvider } from './provider.ts'
import type { ProviderTokenDeps } from './tokens.ts'

interface LogOutDeps extends Pick<ProviderTokenDeps, 'providers' | 'clock'> {
  readonly directory: Pick<Directory, 'listLinked' | 'useOnce' | 'isUsed' | 'signOut'>
}

/** Ends all sessions of the user that the token is about. */
export async function logOut(text: string, provider: Provider, { providers, directory, clock }: LogOutDeps) {
  const token = await requireSigned(
    text,
    provider,
    LOGOUT_TOKEN_TYPES[provider.client?.logoutTokenType ?? 'logout+jwt'],
  )
  const logout = readLogoutClaims(token.claims, { ...provider.rules, nowSeconds: nowSeconds(clock) })
  if (logout.kind === 'refused') throw badRequest(`The logout token is refused: ${logout.reason}.`)
  const { issuer, id, expiresAt } = logout
  if (providers.get(issuer)?.name !== provider.name) throw badRequest('The logout token is of another provider.')
  const use = `logout:${issuer}:${id}`
  // a copy must not end the sessions that were opened since
  if (directory.isUsed(use)) throw badRequest(USED)
  for (const name of await directory.listLinked(logout)) await directory.signOut(name, PROGRAM)
  // noted last: if the store fails before, the provider sends the token again
  if (!(await directory.useOnce(use, expiresAt))) throw badRequest(USED)
}

const USED = 'The logout token was used before.'

/** Verifies a token with the keys of this provider alone. Throws a `Refusal`. */
export async function requireSigned(
  text: string,
  provider: Provider,
  types: TokenRules['types'],
): Promise<VerifiedToken> {
  const token = await verifyWithProvider(readToken(text), provider, types)
  if (token === undefined) throw unavailable(`[provider:${provider.name}] its keys cannot be fetched`)
  if (token.kind === 'refused')
    throw new Refusal('bad_request', { reason: 'The token of the provider is not accepted.', detail: token.reason })
  return token
}
