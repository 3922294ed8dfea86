// The claims of a logout token: OpenID Connect Back-Channel Logout 1.0, 2.4 and 2.6.
import { findMember, isJsonObject } from '../base/json.ts'
import { findNumber } from './document-claims.ts'
import type { ProviderClaimRules } from './provider-claims.ts'
import { type Claims, refuse } from './verify.ts'

/** Providers that follow an earlier draft send `JWT` or nothing. */
export const LOGOUT_TOKEN_TYPES = ['logout+jwt', 'JWT', undefined]

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds after its issue for which it is accepted. */
const LIFETIME = 300

type LogoutRules = Pick<ProviderClaimRules, 'clientId' | 'skewSeconds' | 'nowSeconds'>

/** An ID token, which has a nonce and no events, is refused. From `expiresAt` on, in seconds, the token is refused anyway. */
export function readLogoutClaims(claims: Claims, rules: LogoutRules) {
  const [issuer, subject, id] = ['iss', 'sub', 'jti'].map((name) => findMember(claims, name))
  const events = findMember(claims, 'events')
  if (!isJsonObject(events) || !isJsonObject(findMember(events, EVENT))) return refuse('events is missing')
  if (Object.hasOwn(claims, 'nonce')) return refuse('it has a nonce')
  if (![findMember(claims, 'aud')].flat().includes(rules.clientId)) return refuse('it is for another client')
  if (typeof issuer !== 'string' || typeof id !== 'string' || id === '') return refuse('iss or jti is missing')
  if (typeof subject !== 'string' || subject === '') return refuse('sub is missing, and sid alone is not supported')
  const issuedAt = findNumber(claims, 'iat') ?? 0
  const end = Object.hasOwn(claims, 'exp') ? (findNumber(claims, 'exp') ?? 0) : issuedAt + LIFETIME
  const expiresAt = Math.min(end, issuedAt + LIFETIME) + rules.skewSeconds
  if (issuedAt > rules.nowSeconds + rules.skewSeconds) return refuse('it is not valid yet')
  return rules.nowSeconds >= expiresAt
    ? refuse('it has expired')
    : { kind: 'read' as const, issuer, subject, id, expiresAt }
}
