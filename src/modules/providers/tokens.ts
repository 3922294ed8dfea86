/**
 * Access tokens of identity providers, at both doors. `iss` chooses the provider by exact comparison; before the
 * signature is verified with a key of that provider, nothing else of the token counts.
 */

import { EXTERNAL_TOKEN, type FindExternalToken } from '../../auth/external-token.ts'
import {
  type AcceptedCredential,
  accept as acceptCredential,
  isName,
  reject,
  toExternalIdentity,
  type Verdict,
  type WaitForVerdict,
} from '../../auth/handler.ts'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { badRequest, Refusal, refusalText } from '../../base/errors.ts'
import { findMember } from '../../base/json.ts'
import { type Account, withGivenRoles } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import { isLinkedTo } from '../../directory/external-accounts.ts'
import { withoutFactorSetup } from '../../directory/identity.ts'
import { hasInvisible } from '../../directory/users/check-user.ts'
import type { ExternalAccount } from '../../directory/users/user.ts'
import { createTokenCache } from '../../keys/token-cache.ts'
import { findIssuer, type ReadToken, type RefusedToken, readToken, type VerifiedToken } from '../../keys/verify.ts'
import { ACCESS_TOKEN_TYPES, checkFreshSignIn, type ProviderClaims, readProviderClaims } from './claims.ts'
import { unavailable } from './connections.ts'
import { checkFactor, mapRoles, type Provider, type Providers, verifyWithProvider } from './provider.ts'

export interface ProviderTokenDeps {
  readonly providers: Providers
  readonly directory: Pick<
    Directory,
    | ('findAccount' | 'peekAccount' | 'peekTokenAccount' | 'listLinked' | 'createLinked' | 'findConfusion')
    | ('isForeignTokenLive' | 'isForeignTokenKnownLive')
  >
  /** Roles whose members need a second factor. The same list until the configuration changes. */
  factorRoles(): readonly string[]
  /** Seconds after its issue at which a token ends; 0: only its own expiry counts. */
  maxLifetimeSeconds(): number
  readonly clock: Clock
}

/** What a verified token says, until its keys or its user change. */
interface ProviderTokenReading {
  readonly provider: Provider
  /** The version of the key that verified it. When the provider removes that key, the token is refused. */
  readonly keyVersion: string
  readonly claims: ProviderClaims
  readonly readAtSeconds: number
  /** The name of the user, or the asserted one. */
  readonly name: string
  /** Mapped. Those of a linked user are its own. */
  readonly roles: readonly string[]
  /** The account is no longer linked to the user: it may be linked to another one. */
  isOutdated?: true
  /** The last verdict, and what it depends on. */
  last?: { readonly account: Account | undefined; factorRoles: readonly string[]; readonly verdict: AcceptedCredential }
}

/** For a handler of a door. */
export function createProviderTokens(deps: ProviderTokenDeps, handler: string): FindExternalToken {
  const { providers } = deps
  const cache = createTokenCache<ProviderTokenReading>()
  const readNew = async (text: string, read: ReadToken, provider: Provider): Promise<Verdict> => {
    const token = await verifyWithProvider(read, provider, ACCESS_TOKEN_TYPES)
    const reading = await readVerified(token, provider, deps)
    if (reading instanceof Refusal) return reject(reading)
    cache.remember({ token: text, version: ANY_VERSION }, reading, reading.claims.expiresAt)
    const verdict = decide(reading, handler, deps)
    return typeof verdict === 'function' ? verdict() : verdict
  }
  return (text, now) => {
    const known = cache.find({ token: text, version: ANY_VERSION }, now)
    if (known && isCurrent(known, now)) return decide(known, handler, deps)
    const read = readToken(text)
    const issuer = read.kind === 'read' && findMember(read.claims, 'iss')
    const provider = typeof issuer === 'string' ? providers.get(issuer) : undefined
    return provider && read.kind === 'read' ? () => readNew(text, read, provider) : undefined
  }
}

/** The keys that count for a token are known only when it was found: it is compared with them then. */
const ANY_VERSION = ''

/** A token that was not valid yet when the clock was set back is read again. */
const isCurrent = ({ provider, keyVersion, readAtSeconds, isOutdated }: ProviderTokenReading, now: number): boolean =>
  !isOutdated && now >= readAtSeconds && (provider.keys.get()?.has(keyVersion) ?? false)

/** `why` is sent: the client holds a token that the provider signed, and needs to know what to change there. */
export const refuseProviderToken = (why: string): Refusal => new Refusal('token_refused', { reason: why })

export const NOT_LINKED = 'this account is not linked to a user'

/**
 * For a user who links the account of a token. Throws a `Refusal` if no provider accepts it as an access token, or it does
 * not prove that the user has signed in there just now.
 */
export const createExternalAccountFinder =
  ({ providers, clock }: Pick<ProviderTokenDeps, 'providers' | 'clock'>) =>
  async (text: string): Promise<Omit<ExternalAccount, 'linkedAt'>> => {
    const provider = providers.get(findIssuer(text) ?? '')
    if (!provider) throw badRequest('The token is not of a configured identity provider.')
    const claims = readClaims(await verifyWithProvider(readToken(text), provider, ACCESS_TOKEN_TYPES), provider, clock)
    if (claims instanceof Refusal)
      throw claims.code === 'provider_unavailable'
        ? claims
        : badRequest(`The token is refused: ${refusalText(claims)}.`)
    const flaw = checkFreshSignIn(claims, { ...provider.rules, nowSeconds: nowSeconds(clock) })
    if (flaw !== undefined) throw new Refusal('forbidden', { reason: `The token is refused: ${flaw}. ${INSTEAD}` })
    return { provider: provider.name, issuer: claims.issuer, subject: claims.subject }
  }

const INSTEAD = 'Link the account on the sign-in page instead, where you sign in at the provider.'

function readClaims(token: VerifiedToken | RefusedToken | undefined, provider: Provider, clock: Clock) {
  if (token === undefined) return unavailable(`[provider:${provider.name}] its keys cannot be fetched`)
  if (token.kind === 'refused')
    return new Refusal('token_refused', { detail: `token of ${provider.name}: ${token.reason}` })
  const claims = readProviderClaims(token.claims, token.header, { ...provider.rules, nowSeconds: nowSeconds(clock) })
  return claims.kind === 'refused' ? refuseProviderToken(claims.reason) : claims
}

async function readVerified(
  token: VerifiedToken | RefusedToken | undefined,
  provider: Provider,
  deps: ProviderTokenDeps,
): Promise<ProviderTokenReading | Refusal> {
  const now = nowSeconds(deps.clock)
  const claims = readClaims(token, provider, deps.clock)
  if (claims instanceof Refusal) return claims
  const roles = provider.users === 'link' ? [] : mapRoles(provider, claims.roles)
  const name =
    provider.users === 'asserted'
      ? toAssertedName(provider, claims, deps)
      : await findUser(provider, { ...claims, roles }, deps)
  if (name instanceof Refusal) return name
  const keyVersion = token?.kind === 'verified' ? token.key.version : ''
  return { provider, keyVersion, claims, readAtSeconds: now, name, roles }
}

function toAssertedName(
  { name: prefix, keepsNames }: Provider,
  claims: ProviderClaims,
  { directory }: ProviderTokenDeps,
): string | Refusal {
  const name = keepsNames ? claims.name : `${prefix}/${claims.name}`
  const isConfusing = hasInvisible(name) || (keepsNames && directory.findConfusion(name) !== undefined)
  return isName(name) && !isConfusing ? name : refuseProviderToken('the name in the token is not allowed here')
}

type UserDeps = Pick<ProviderTokenDeps, 'factorRoles'> & {
  readonly directory: Pick<Directory, 'listLinked' | 'createLinked'>
}

type SignedInClaims = Pick<
  ProviderClaims,
  'issuer' | 'subject' | 'name' | 'issuedAt' | 'roles' | 'address' | 'hasFactor'
>

/** The user of the external account. With `create` the first sign-in creates it. `roles` are mapped. */
export async function findUser(
  provider: Provider,
  { issuer, subject, name, issuedAt, roles, address, hasFactor }: SignedInClaims,
  { directory, factorRoles }: UserDeps,
): Promise<string | Refusal> {
  const [linked, ...others] = await directory.listLinked({ issuer, subject })
  if (others.length > 0)
    return refuseProviderToken('several users have this account: an administrator must unlink all but one')
  if (linked !== undefined) return linked
  if (provider.users !== 'create') return refuseProviderToken(NOT_LINKED)
  const flaw = checkFactor({ roles, hasFactor }, factorRoles())
  if (flaw !== undefined) return refuseProviderToken(flaw)
  const created = await directory.createLinked({ issuer, subject, provider: provider.name, name, address, issuedAt })
  return created ?? refuseProviderToken('no user can be created for this account; sign in again at the provider')
}

/** Checks what may have changed since the token was read. Waits only if the user is not cached. */
function decide(reading: ProviderTokenReading, handler: string, deps: ProviderTokenDeps): Verdict | WaitForVerdict {
  const { name, claims, provider } = reading
  const { directory } = deps
  const max = deps.maxLifetimeSeconds()
  if (max > 0 && nowSeconds(deps.clock) >= claims.issuedAt + provider.rules.skewSeconds + max)
    return reject(refuseProviderToken('the token is too old'))
  const token = toForeignToken(name, claims)
  const isAsserted = provider.users === 'asserted'
  const account = isAsserted ? directory.peekAccount(name) : directory.peekTokenAccount(token)
  const isLive = isAsserted ? directory.isForeignTokenKnownLive(token) : account !== undefined
  return isLive ? accept(reading, account, handler, deps) : () => askDirectory(reading, handler, deps)
}

/** `issuedAt` of the claims has the clock skew subtracted already, so there is no leeway. */
const toForeignToken = (name: string, { issuedAt }: Pick<ProviderClaims, 'issuedAt'>) => ({
  name,
  issuedAt,
  leewaySeconds: 0,
})

async function askDirectory(reading: ProviderTokenReading, handler: string, deps: ProviderTokenDeps): Promise<Verdict> {
  const { name, claims, provider } = reading
  const { directory } = deps
  const account = await directory.findAccount(name)
  if (provider.users !== 'asserted' && !account)
    return reject(refuseProviderToken('the user is disabled or was deleted'))
  if (!(await directory.isForeignTokenLive(toForeignToken(name, claims))))
    return reject(
      refuseProviderToken(
        'all sessions of the user were ended, and the token may have been issued before; wait, then get a new one',
      ),
    )
  return accept(reading, account, handler, deps)
}

function accept(
  reading: ProviderTokenReading,
  account: Account | undefined,
  handler: string,
  deps: ProviderTokenDeps,
): Verdict {
  const { last, claims, keyVersion, provider } = reading
  const factorRoles = deps.factorRoles()
  if (last && last.account === account && last.factorRoles === factorRoles) return last.verdict
  const isAsserted = provider.users === 'asserted'
  const owner = isAsserted ? findOtherOwner(provider, account) : undefined
  if (owner !== undefined) return reject(refuseProviderToken(`${owner} has this name`))
  // an administrator could take a name later, and unlinking counts at once
  if (!isAsserted && (account === undefined || account.isAdmin || !isLinkedTo(account, claims))) {
    reading.isOutdated = true
    return reject(refuseProviderToken(NOT_LINKED))
  }
  // the roles are those that the token says: those stored at the last sign-in of a browser may be older. The second
  // factor of the provider counts, none needs to be set up here
  const identity =
    account && !isAsserted
      ? withGivenRoles(withoutFactorSetup(account), reading.roles)
      : toExternalIdentity(reading.name, reading.roles)
  const flaw = checkFactor({ ...claims, roles: identity.roles }, factorRoles)
  if (flaw !== undefined) return reject(refuseProviderToken(flaw))
  const credential = { kind: EXTERNAL_TOKEN, handler, expiresAt: claims.expiresAt, keyVersion }
  const verdict = acceptCredential(identity, credential)
  reading.last = { account, factorRoles, verdict }
  return verdict
}

/**
 * Who else has the name of an asserted user, perhaps since its last request. Programs behind Cardea may give rights by the
 * name alone; with names as they are, an operator has chosen that users of both have the same.
 */
function findOtherOwner({ keepsNames }: Provider, account: Account | undefined): string | undefined {
  if (account?.isAdmin) return 'an administrator'
  return account && !keepsNames ? 'a user' : undefined
}
