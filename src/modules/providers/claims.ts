// The claims of a verified access token of an identity provider: RFC 9068, RFC 8725, and what providers really send.

import { findMember, isJsonObject } from '../../base/json.ts'
import { readAddress } from '../../directory/users/address.ts'
import { type ClaimPlace, findClaim, findNumber } from '../../keys/document-claims.ts'
import { type Claims, type Refused, type TokenHeader, toRefusedToken } from '../../keys/verify.ts'

export interface ProviderClaimRules {
  readonly audience: readonly string[]
  /** Accepted values of `azp` or `client_id`; empty: all. */
  readonly clients: readonly string[]
  /** What an access token must have been given for (`scope` or `scp`): all of these; empty: anything. */
  readonly scopes: readonly string[]
  /** Cardea's own client id, whose ID tokens are no access tokens. */
  readonly clientId: string
  readonly name: ClaimPlace
  /** `undefined`: tokens have no roles. */
  readonly roles: ClaimPlace | undefined
  /** Values of `amr` or `acr` that prove a second factor; `*`: the provider always asks for one. */
  readonly factors: readonly string[]
  /** Whether an address that the provider calls verified counts. */
  readonly trustsEmail: boolean
  readonly skewSeconds: number
  readonly nowSeconds: number
}

export interface ProviderClaims {
  readonly kind: 'read'
  readonly issuer: string
  readonly subject: string
  /** What the provider calls the user, which the user may be able to choose. */
  readonly name: string
  readonly roles: readonly string[]
  /** `undefined`: it has none that is verified, or the provider is not trusted for it. */
  readonly address: string | undefined
  /** Whether the provider has asked for a second factor. */
  readonly hasFactor: boolean
  /** `iat` minus the skew: the clock of the provider may be ahead, and a token that was revoked must stay so. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The client that the token was given to. */
  readonly client: string | undefined
  /** When the user signed in at the provider (`auth_time`), in seconds. */
  readonly signedInAt: number | undefined
}

/** `typ` in the header of an access token. A logout token has another one. */
export const ACCESS_TOKEN_TYPES: readonly (string | undefined)[] = [
  undefined,
  'JWT',
  'at+jwt',
  'AT+JWT',
  'application/at+jwt',
]

/** Why the token is refused: for the log, and for the client that has proved to hold a token of the provider. */
export function readProviderClaims(
  claims: Claims,
  header: TokenHeader,
  rules: ProviderClaimRules,
): ProviderClaims | Refused<string> {
  const flaw =
    checkTimes(claims, rules) ??
    checkAudience(claims, rules) ??
    checkUse(claims, header, rules) ??
    checkClient(claims, rules) ??
    checkScopes(claims, rules)
  if (flaw) return toRefusedToken(flaw)
  const [issuer, subject] = [findMember(claims, 'iss'), findMember(claims, 'sub')]
  if (typeof issuer !== 'string' || typeof subject !== 'string' || subject === '')
    return toRefusedToken('sub is missing')
  return {
    kind: 'read',
    issuer,
    subject,
    name: findText(claims, rules.name) ?? subject,
    roles: findRoles(claims, rules.roles),
    address: findAddress(claims, rules),
    hasFactor: claimsFactor(claims, rules.factors),
    issuedAt: findIssueTime(claims, rules),
    expiresAt: (findNumber(claims, 'exp') ?? 0) + rules.skewSeconds,
    client: findClient(claims),
    signedInAt: findNumber(claims, 'auth_time'),
  }
}

export const findIssueTime = (claims: Claims, { skewSeconds }: Pick<ProviderClaimRules, 'skewSeconds'>): number =>
  (findNumber(claims, 'iat') ?? 0) - skewSeconds

function checkTimes(claims: Claims, { nowSeconds, skewSeconds }: ProviderClaimRules): string | undefined {
  const [iat, exp, nbf] = ['iat', 'exp', 'nbf'].map((name) => findNumber(claims, name))
  if (iat === undefined || exp === undefined) return 'iat or exp is missing'
  if (nowSeconds >= exp + skewSeconds) return 'the token has expired'
  const isEarly = Math.max(iat, nbf ?? 0) > nowSeconds + skewSeconds
  return isEarly || (nbf === undefined && Object.hasOwn(claims, 'nbf')) ? 'the token is not valid yet' : undefined
}

const listTexts = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')

function checkAudience(claims: Claims, { audience }: ProviderClaimRules): string | undefined {
  const given = listTexts(findMember(claims, 'aud'))
  if (given.some((each) => audience.includes(each))) return undefined
  const isStock = given.length === 1 && given[0] === 'account'
  return isStock
    ? 'the audience is account, which every token of Keycloak has: add a mapper of type Audience to the client'
    : 'the token is for another audience'
}

/** Claims of ID tokens and logout tokens. */
const OTHER_USES = ['at_hash', 'c_hash', 's_hash', 'nonce', 'events']
/** Claims of access tokens: what the client may do, and which client it is. */
const ACCESS_CLAIMS = ['scope', 'scp', 'client_id', 'cid']

const INSTEAD = 'send the access token that the provider issues with it'

/**
 * An ID token says who signed in at a client; that client must not be able to use it here as its user. A token without a
 * sign that it is an access token is refused as well: an ID token need not have a claim of its own.
 */
function checkUse(claims: Claims, { typ }: TokenHeader, { clientId }: ProviderClaimRules): string | undefined {
  if (typeof typ === 'string' && typ.toLowerCase().endsWith('at+jwt')) return undefined
  const use = findMember(claims, 'typ')
  if (use !== undefined)
    return use === 'Bearer' ? undefined : `this is a token of type ${JSON.stringify(use)}: ${INSTEAD}`
  const [audience, client] = [listTexts(findMember(claims, 'aud')), findMember(claims, 'azp')]
  const hasAny = (names: readonly string[]) => names.some((name) => Object.hasOwn(claims, name))
  if (hasAny(OTHER_USES)) return `this is an ID token, not an access token: ${INSTEAD}`
  // the audience of an ID token is the client itself; those of Google for a phone have its server, and the phone as azp
  const isForOther =
    typeof client === 'string' &&
    !audience.includes(client) &&
    !audience.includes(clientId) &&
    findMember(claims, 'iss') !== 'https://accounts.google.com'
  if (hasAny(ACCESS_CLAIMS) || isForOther) return undefined
  return `this may be an ID token, as neither typ at+jwt nor a claim scope, scp or client_id says that it is an access token: ${INSTEAD}`
}

function checkClient(claims: Claims, { clients }: ProviderClaimRules): string | undefined {
  const client = findClient(claims)
  if (clients.length === 0 || (client !== undefined && clients.includes(client))) return undefined
  return 'the token was given to another client'
}

/** One text with blanks (RFC 9068), or a list, as Okta sends it. */
function checkScopes(claims: Claims, { scopes }: ProviderClaimRules): string | undefined {
  const given = ['scope', 'scp'].flatMap((name) => listTexts(findMember(claims, name)))
  const all = new Set(given.flatMap((text) => text.split(' ')))
  const missing = scopes.find((scope) => !all.has(scope))
  return missing === undefined ? undefined : `the token lacks the scope ${missing}`
}

function findClient(claims: Claims): string | undefined {
  const client = findMember(claims, 'azp') ?? findMember(claims, 'client_id')
  return typeof client === 'string' ? client : undefined
}

/** Seconds for which a sign-in at the provider proves who holds the token. */
const FRESH_SECONDS = 300

/** Whether the user has signed in at the provider (`auth_time`) just now. */
export function isFreshSignIn(
  signedInAt: number | undefined,
  { skewSeconds, nowSeconds }: Pick<ProviderClaimRules, 'skewSeconds' | 'nowSeconds'>,
): boolean {
  const age = nowSeconds - (signedInAt ?? Number.NaN)
  return age >= -skewSeconds && age <= FRESH_SECONDS + skewSeconds
}

/**
 * Why a token does not prove that its holder has signed in at the provider just now, with Cardea's own client. Any program
 * that a user has given a token could use it otherwise, to make the account its own.
 */
export function checkFreshSignIn(
  { client, signedInAt }: ProviderClaims,
  { clientId, skewSeconds, nowSeconds }: ProviderClaimRules,
): string | undefined {
  if (clientId === '') return 'the provider has no client-id here'
  if (client !== clientId) return `it was not given to the client ${clientId} (azp)`
  return isFreshSignIn(signedInAt, { skewSeconds, nowSeconds })
    ? undefined
    : `its sign-in (auth_time) is more than ${FRESH_SECONDS} seconds ago, or it does not say when`
}

export function findText(claims: Claims, place: ClaimPlace): string | undefined {
  const found = findClaim(claims, place)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Zitadel and others send an object whose keys are the roles. */
export function findRoles(claims: Claims, place: ClaimPlace | undefined): readonly string[] {
  const found = place && findClaim(claims, place)
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) return Object.keys(found)
  return typeof found === 'string' ? found.split(' ').filter((role) => role !== '') : listTexts(found ?? [])
}

/** The flag is a text at some providers, such as Apple. */
export function findAddress(
  claims: Claims,
  { trustsEmail }: Pick<ProviderClaimRules, 'trustsEmail'>,
): string | undefined {
  const [address, verified] = [findMember(claims, 'email'), findMember(claims, 'email_verified')]
  const isVerified = trustsEmail && (verified === true || verified === 'true')
  return isVerified && typeof address === 'string' ? readAddress(address) : undefined
}

/** What a token says about how its user signed in: RFC 8176 lists values of `amr`; those of `acr` are the provider's own. */
export const claimsFactor = (claims: Claims, factors: readonly string[]): boolean =>
  factors.includes('*') ||
  ['amr', 'acr'].flatMap((name) => listTexts(findMember(claims, name))).some((value) => factors.includes(value))

// The claims of a logout token: OpenID Connect Back-Channel Logout 1.0, 2.4 and 2.6.

/**
 * Accepted values of `typ` in the header of logout tokens, by the value of the option. Providers that follow an earlier
 * draft send `JWT` or nothing, as in tokens for another use.
 */
export const LOGOUT_TOKEN_TYPES = { 'logout+jwt': ['logout+jwt'], any: ['logout+jwt', 'JWT', undefined] } as const

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds after its issue for which it is accepted. */
const LIFETIME = 300

type LogoutRules = Pick<ProviderClaimRules, 'clientId' | 'skewSeconds' | 'nowSeconds'>

/** An ID token, which has a nonce and no events, is refused. From `expiresAt` on, in seconds, the token is refused anyway. */
export function readLogoutClaims(claims: Claims, rules: LogoutRules) {
  const [issuer, subject, id] = ['iss', 'sub', 'jti'].map((name) => findMember(claims, name))
  const events = findMember(claims, 'events')
  if (!isJsonObject(events) || !isJsonObject(findMember(events, EVENT))) return toRefusedToken('events is missing')
  if (Object.hasOwn(claims, 'nonce')) return toRefusedToken('it has a nonce')
  if (![findMember(claims, 'aud')].flat().includes(rules.clientId)) return toRefusedToken('it is for another client')
  if (typeof issuer !== 'string' || typeof id !== 'string' || id === '') return toRefusedToken('iss or jti is missing')
  if (typeof subject !== 'string' || subject === '')
    return toRefusedToken('sub is missing, and sid alone is not supported')
  const issuedAt = findNumber(claims, 'iat') ?? 0
  const end = Object.hasOwn(claims, 'exp') ? (findNumber(claims, 'exp') ?? 0) : issuedAt + LIFETIME
  const expiresAt = Math.min(end, issuedAt + LIFETIME) + rules.skewSeconds
  if (issuedAt > rules.nowSeconds + rules.skewSeconds) return toRefusedToken('it is not valid yet')
  return rules.nowSeconds >= expiresAt
    ? toRefusedToken('it has expired')
    : { kind: 'read' as const, issuer, subject, id, expiresAt }
}
