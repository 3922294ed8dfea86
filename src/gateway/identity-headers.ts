/** The headers that pass the identity of a request to upstream servers. Signers are passed in; no key is kept here. */

import { createLruCache } from '../base/caches.ts'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { idOf, isAccount } from '../directory/account.ts'
import { ADMIN_ROLE, type Authenticated, expiryOf, type Identity, isAnonymous } from '../directory/identity.ts'
import type { Signer } from '../keys/sign.ts'

/** The headers for one request. */
export interface IdentityHeaders {
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** Whether the client's own `Authorization` is forwarded too. */
  readonly keepsAuthorization: boolean
}

export type ToIdentityHeaders = (authenticated: Authenticated) => IdentityHeaders

/** For anonymous requests. */
const NO_IDENTITY: IdentityHeaders = Object.freeze({ headers: Object.freeze([]), keepsAuthorization: false })

/** The client's own credential, and nothing else. */
const CLIENT_CREDENTIAL: IdentityHeaders = Object.freeze({ headers: Object.freeze([]), keepsAuthorization: true })

const withHeaders = (...headers: string[]): IdentityHeaders => ({ headers, keepsAuthorization: false })

/** UTF-8 in a header: text with one character per byte. */
const toHeader = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

// names and roles contain no control characters, so two identities never have the same key
const cacheKeyOf = ({ name, roles, isAdmin }: Identity): string => `${name}\n${roles.join(',')}\n${isAdmin}`

/** Names that another issuer or a proxy asserts have none. */
const findId = (identity: Identity): string | undefined => (isAccount(identity) ? idOf(identity) : undefined)

const rolesOf = ({ roles, isAdmin }: Identity): readonly string[] =>
  isAdmin && !roles.includes(ADMIN_ROLE) ? [ADMIN_ROLE, ...roles] : roles

/** `undefined`: no secret is configured. */
export type FindSigner = () => Signer | undefined

function refuseToSign(): never {
  throw new Refusal('upstream_failed', { detail: 'no secret is configured to sign for the upstream' })
}

/** The document database: a token with name and roles. `aud` is the database; it reads roles from a claim of that name. */
export function identityHeadersByDocumentToken(
  signer: FindSigner,
  audience: () => string,
  clock: Clock,
): ToIdentityHeaders {
  const cache = createUpstreamTokenCache<IdentityHeaders>(clock)
  return (who) => {
    const { identity } = who
    const { name } = identity
    if (name === null) return NO_IDENTITY
    const { version: keyVersion, sign } = signer() ?? refuseToSign()
    const wanted = { identity, subject: () => cacheKeyOf(identity), keyVersion, endsAt: expiryOf(who) }
    return cache.find(wanted, (iat, exp) => {
      const aud = audience()
      return withHeaders(
        'Authorization',
        `Bearer ${sign({ aud, sub: name, [`_${aud}.roles`]: rolesOf(identity), iat, exp })}`,
      )
    })
  }
}

/** The document database: its proxy headers. `prove` makes the proof of a name with the shared secret. */
export function identityHeadersByProxyHeaders(
  names: () => { readonly username: string; readonly roles: string; readonly token: string },
  prove: (name: string) => string,
): ToIdentityHeaders {
  return ({ identity }) => {
    const { name } = identity
    if (name === null) return NO_IDENTITY
    const header = names()
    const roles = rolesOf(identity)
    // the database reads an empty header as one role without a name
    const rolesHeader = roles.length === 0 ? [] : [header.roles, toHeader(roles.join(','))]
    return withHeaders(header.username, toHeader(name), ...rolesHeader, header.token, prove(name))
  }
}

/**
 * The multi-model database: a token for the same name. A superuser stays a superuser. `admin`: the database user that
 * administrators act as. `iss`: what the database requires, which is its own name, and so the audience too.
 */
export function identityHeadersByUserToken(
  signer: FindSigner,
  iss: string,
  admin: () => string,
  clock: Clock,
): ToIdentityHeaders {
  const cache = createUpstreamTokenCache<IdentityHeaders>(clock)
  return (who) => {
    const user = toUpstreamUser(who.identity, admin())
    if (user === undefined) return NO_IDENTITY
    const { version: keyVersion, sign } = signer() ?? refuseToSign()
    const wanted = { subject: () => JSON.stringify(user), keyVersion, endsAt: expiryOf(who) }
    return cache.find(wanted, (iat, exp) =>
      withHeaders('Authorization', `bearer ${sign({ ...user, iss, aud: iss, iat, exp })}`),
    )
  }
}

type UpstreamUser = { readonly preferred_username: string } | { readonly server_id: string }

function toUpstreamUser({ name, isAdmin, isSuperuser }: Identity, admin: string): UpstreamUser | undefined {
  if (isSuperuser) return { server_id: 'cardea' }
  if (isAdmin) return { preferred_username: admin }
  if (name === null) return undefined
  // in the database this name is the user with all rights
  if (name === admin) throw new Refusal('forbidden')
  return { preferred_username: name }
}

/** The multi-model database: the client's own credential, once Cardea has accepted it. `admin`: as above. */
export const identityHeadersByClient =
  (admin: () => string): ToIdentityHeaders =>
  (who) => {
    if (isAnonymous(who)) return NO_IDENTITY
    const { identity } = who
    if (identity.name === admin() && !identity.isAdmin) throw new Refusal('forbidden')
    return CLIENT_CREDENTIAL
  }

/** The user of a token for a service. */
export interface ServiceUser extends Pick<Identity, 'roles' | 'isAdmin'> {
  /** Absent for a name that another issuer or a proxy asserts. */
  readonly id?: string
  readonly name: string
}

/** Further claims for the token of a user. Those of Cardea itself stay as they are. */
export type ToClaims = (user: ServiceUser, service: string) => object

/** Services: a token that can be verified with the public key, and plain headers for services that trust the network. */
export function identityHeadersForService(
  signer: () => Signer,
  aud: string,
  clock: Clock,
  toClaims: ToClaims = () => ({}),
): ToIdentityHeaders {
  const cache = createUpstreamTokenCache<IdentityHeaders>(clock)
  return (who) => {
    const { identity } = who
    // the credential of an anonymous request may be the application's own
    if (isAnonymous(who)) return who.isHeldBack ? NO_IDENTITY : CLIENT_CREDENTIAL
    const name = identity.name
    // a superuser token has no user name, and is for the database only
    if (name === null) throw new Refusal('forbidden')
    const { version: keyVersion, sign } = signer()
    const subject = () => `${cacheKeyOf(identity)}\n${findId(identity)}`
    return cache.find({ identity, subject, keyVersion, endsAt: expiryOf(who) }, (iat, exp) => {
      const id = findId(identity)
      const roles = rolesOf(identity)
      const own = { iss: 'cardea', aud, sub: name, ...(id && { user_id: id }), roles, iat, exp }
      const token = sign({ ...toClaims({ ...(id && { id }), name, roles, isAdmin: identity.isAdmin }, aud), ...own })
      const headers = ['X-Auth-Token', token, 'X-Auth-User', toHeader(name), 'X-Auth-Roles', toHeader(roles.join(','))]
      // always sent: Caddy passes the name of its variable on in place of a header that is absent
      return withHeaders(...headers, 'X-Auth-User-Id', id ?? '')
    })
  }
}

/** How long a token for an upstream server is valid. */
export const TOKEN_SECONDS = 300
/** A token is replaced this long before it expires, because clocks differ. */
const RENEW_BEFORE_SECONDS = 60
const MAX_TOKENS = 10_000

interface TokenRequest {
  /** Identities with the same subject share a token. */
  subject(): string
  /** The identity, if the subject depends on nothing else. */
  readonly identity?: Identity
  /** Identifies the signing key: a token signed with another key is not reused. */
  readonly keyVersion: string
  /** When the client's credential expires, in seconds since the epoch: the token does not outlive it. */
  readonly endsAt: number
}

interface CachedToken<T> {
  readonly value: T
  readonly keyVersion: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Signed tokens, or headers that contain one, by subject. Each is created once and reused until it nearly expires. Most
 * requests have the identity object of an earlier request: their token is found by it, and no subject is built.
 */
export function createUpstreamTokenCache<T>(clock: Clock) {
  const bySubject = createLruCache<CachedToken<T>>(MAX_TOKENS)
  const byIdentity = new WeakMap<Identity, CachedToken<T>>()
  return {
    find({ identity, subject, keyVersion, endsAt }: TokenRequest, create: (now: number, expiresAt: number) => T): T {
      const now = nowSeconds(clock)
      const isFresh = (token: CachedToken<T>) => token.expiresAt - RENEW_BEFORE_SECONDS > now
      const isShort = endsAt < now + TOKEN_SECONDS
      const ofIdentity = identity && !isShort ? byIdentity.get(identity) : undefined
      if (ofIdentity?.keyVersion === keyVersion && isFresh(ofIdentity)) return ofIdentity.value
      const expiresAt = isShort ? Math.max(Math.ceil(endsAt), now + 1) : now + TOKEN_SECONDS
      // a token that ends with its credential cannot be renewed, and is used for that end only
      const key = `${keyVersion}\n${isShort ? expiresAt : ''}\n${subject()}`
      const ofSubject = bySubject.get(key)
      const isUsable = ofSubject && (isShort || isFresh(ofSubject))
      const token = isUsable ? ofSubject : { value: create(now, expiresAt), keyVersion, expiresAt }
      if (!isUsable) bySubject.set(key, token)
      if (identity && !isShort) byIdentity.set(identity, token)
      return token.value
    },
  }
}
