// The claims of a verified access token of an identity provider: RFC 9068, RFC 8725, and what providers really send.
import { findMember } from '../base/json.ts'
import { findNumber, findRolesAt, type RolesPlace } from './document-claims.ts'
import { type Claims, type Refused, refuse, type TokenHeader } from './verify.ts'

export interface ProviderClaimRules {
  readonly audience: readonly string[]
  /** Accepted values of `azp` or `client_id`; empty: all. */
  readonly clients: readonly string[]
  /** Cardea's own client id, whose ID tokens are no access tokens. */
  readonly clientId: string
  readonly name: RolesPlace
  /** `undefined`: tokens have no roles. */
  readonly roles: RolesPlace | undefined
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
  readonly issuedAt: number
  readonly expiresAt: number
}

/** `typ` in the header of an access token. A logout token has another one. */
export const ACCESS_TOKEN_TYPES: readonly (string | undefined)[] = [undefined, 'JWT', 'at+jwt', 'application/at+jwt']

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
    checkClient(claims, rules)
  if (flaw) return refuse(flaw)
  const [issuer, subject] = [findMember(claims, 'iss'), findMember(claims, 'sub')]
  if (typeof issuer !== 'string' || typeof subject !== 'string' || subject === '') return refuse('sub is missing')
  return {
    kind: 'read',
    issuer,
    subject,
    name: findText(claims, rules.name) ?? subject,
    roles: findRoles(claims, rules.roles),
    issuedAt: findNumber(claims, 'iat') ?? 0,
    expiresAt: (findNumber(claims, 'exp') ?? 0) + rules.skewSeconds,
  }
}

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

const HASHES = ['at_hash', 'c_hash', 's_hash', 'nonce', 'events']

/** An ID token says who signed in at a client; that client must not be able to use it here as its user. */
function checkUse(claims: Claims, { typ }: TokenHeader, { clientId }: ProviderClaimRules): string | undefined {
  if (typeof typ === 'string' && typ.toLowerCase().endsWith('at+jwt')) return undefined
  const use = findMember(claims, 'typ')
  if (use !== undefined) return use === 'Bearer' ? undefined : `this is a token of type ${JSON.stringify(use)}`
  const isForClient = listTexts(findMember(claims, 'aud')).includes(clientId)
  const isScoped = ['scope', 'scp', 'client_id'].some((name) => Object.hasOwn(claims, name))
  const isIdToken = HASHES.some((name) => Object.hasOwn(claims, name)) || (isForClient && !isScoped)
  return isIdToken ? 'this is an ID token, not an access token' : undefined
}

function checkClient(claims: Claims, { clients }: ProviderClaimRules): string | undefined {
  const client = findMember(claims, 'azp') ?? findMember(claims, 'client_id')
  if (clients.length === 0 || (typeof client === 'string' && clients.includes(client))) return undefined
  return 'the token was given to another client'
}

export function findText(claims: Claims, place: RolesPlace): string | undefined {
  const found = findRolesAt(claims, place)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Zitadel and others send an object whose keys are the roles. */
export function findRoles(claims: Claims, place: RolesPlace | undefined): readonly string[] {
  const found = place && findRolesAt(claims, place)
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) return Object.keys(found)
  return typeof found === 'string' ? found.split(' ').filter((role) => role !== '') : listTexts(found ?? [])
}
