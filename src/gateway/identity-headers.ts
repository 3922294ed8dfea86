/** How the servers behind the doors are told who is asking. What signs is given; nothing here holds a key. */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { type Authenticated, type Identity, isAnonymous } from '../directory/identity.ts'
import type { Signer } from '../keys/signing-key.ts'
import { expiryOf } from './open-streams.ts'
import { createUpstreamTokenCache } from './upstream-token-cache.ts'

/** What goes along with a request. */
export interface IdentityHeaders {
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** Whether the client's own `Authorization` goes along too. */
  readonly keepsAuthorization: boolean
}

export type ToIdentityHeaders = (authenticated: Authenticated) => IdentityHeaders

/** Anonymous stays anonymous. */
const NOBODY: IdentityHeaders = Object.freeze({ headers: Object.freeze([]), keepsAuthorization: false })

/** What the client brought, and nothing else. */
const AS_CAME: IdentityHeaders = Object.freeze({ headers: Object.freeze([]), keepsAuthorization: true })

const withHeaders = (...headers: string[]): IdentityHeaders => ({ headers, keepsAuthorization: false })

/** A header has one character a byte. */
const toHeader = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

// names and roles hold no control characters, so that no two identities read alike
const subjectOf = ({ name, roles, isAdmin }: Identity): string => `${name}\n${roles.join(',')}\n${isAdmin}`

const ADMIN_ROLE = '_admin'

const rolesOf = ({ roles, isAdmin }: Identity): readonly string[] =>
  isAdmin && !roles.includes(ADMIN_ROLE) ? [ADMIN_ROLE, ...roles] : roles

export interface DocumentTokenDeps {
  signer(): Signer
  /** The claim the database reads roles from. */
  rolesClaim(): string
  readonly clock: Clock
}

/** The document database: a token with name and roles. */
export function identityHeadersByDocumentToken({ signer, rolesClaim, clock }: DocumentTokenDeps): ToIdentityHeaders {
  const known = createUpstreamTokenCache<IdentityHeaders>(clock)
  return (who) => {
    const { identity } = who
    const { name } = identity
    if (name === null) return NOBODY
    const { version: keyVersion, sign } = signer()
    return known.find({ subject: subjectOf(identity), keyVersion, endsAt: expiryOf(who) }, (iat, exp) =>
      withHeaders('Authorization', `Bearer ${sign({ sub: name, [rolesClaim()]: rolesOf(identity), iat, exp })}`),
    )
  }
}

export interface ProxyHeaderDeps {
  names(): { readonly username: string; readonly roles: string; readonly token: string }
  /** Proof of a name for whoever shares the secret. */
  prove(name: string): string
}

/** The document database: its proxy headers. */
export function identityHeadersByProxyHeaders({ names, prove }: ProxyHeaderDeps): ToIdentityHeaders {
  return ({ identity }) => {
    const { name } = identity
    if (name === null) return NOBODY
    const header = names()
    const roles = rolesOf(identity)
    // the database reads an empty header as one role without a name
    const rolesHeader = roles.length === 0 ? [] : [header.roles, toHeader(roles.join(','))]
    return withHeaders(header.username, toHeader(name), ...rolesHeader, header.token, prove(name))
  }
}

export interface MultiModelTokenDeps {
  signer(): Signer
  readonly issuer: string
  /** The user an administrator becomes. */
  admin(): string
  readonly clock: Clock
}

/** The multi-model database: a token for the same name. Who stands above all users does there too. */
export function identityHeadersByUserToken({
  signer,
  issuer: iss,
  admin,
  clock,
}: MultiModelTokenDeps): ToIdentityHeaders {
  const known = createUpstreamTokenCache<IdentityHeaders>(clock)
  return (who) => {
    const user = toUpstreamUser(who.identity, admin())
    if (user === undefined) return NOBODY
    const { version: keyVersion, sign } = signer()
    const wanted = { subject: JSON.stringify(user), keyVersion, endsAt: expiryOf(who) }
    return known.find(wanted, (iat, exp) => withHeaders('Authorization', `bearer ${sign({ ...user, iss, iat, exp })}`))
  }
}

type UpstreamUser = { readonly preferred_username: string } | { readonly server_id: string }

function toUpstreamUser({ name, isAdmin, isSuperuser }: Identity, admin: string): UpstreamUser | undefined {
  if (isSuperuser) return { server_id: 'cardea' }
  if (isAdmin) return { preferred_username: admin }
  if (name === null) return undefined
  // the name is somebody else's there: somebody who may do everything
  if (name === admin) throw new Refusal('forbidden')
  return { preferred_username: name }
}

/** The multi-model database: what the client brought, once Cardea has accepted it. `admin`: as above. */
export const identityHeadersByClient =
  (admin: () => string): ToIdentityHeaders =>
  (who) => {
    if (isAnonymous(who)) return NOBODY
    const { identity } = who
    if (identity.name === admin() && !identity.isAdmin) throw new Refusal('forbidden')
    return AS_CAME
  }

export interface ServiceTokenDeps {
  signer(): Signer
  readonly service: string
  readonly clock: Clock
}

/** The headers of services. */
const SERVICE_HEADERS = { token: 'X-Auth-Token', user: 'X-Auth-User', roles: 'X-Auth-Roles' } as const

/** Services: a token anybody can verify, and the same in plain words for those who only trust the network. */
export function identityHeadersForService({ signer, service: aud, clock }: ServiceTokenDeps): ToIdentityHeaders {
  const known = createUpstreamTokenCache<IdentityHeaders>(clock)
  return (who) => {
    const { identity, isHeldBack } = who
    // of nobody it may be the application's own
    if (isAnonymous(who)) return isHeldBack ? NOBODY : AS_CAME
    const sub = identity.name
    // a superuser token: it names nobody an application could be told of, and is for the database alone
    if (sub === null) throw new Refusal('forbidden')
    const { version: keyVersion, sign } = signer()
    return known.find({ subject: subjectOf(identity), keyVersion, endsAt: expiryOf(who) }, (iat, exp) => {
      const roles = rolesOf(identity)
      const token = sign({ iss: 'cardea', aud, sub, roles, iat, exp })
      const { token: tokenHeader, user, roles: rolesHeader } = SERVICE_HEADERS
      return withHeaders(tokenHeader, token, user, toHeader(sub), rolesHeader, toHeader(roles.join(',')))
    })
  }
}
