/** The ways to tell a database who sends a request, one row for each value of its option. */
import { mintProxyToken } from '../auth/proxy.ts'
import type { Clock } from '../base/clock.ts'
import {
  type FindSigner,
  identityHeadersByClient,
  identityHeadersByDocumentToken,
  identityHeadersByProxyHeaders,
  identityHeadersByUserToken,
  type ToIdentityHeaders,
} from './identity-headers.ts'

interface DocumentUpstreamIdentity {
  /** The secret that is shared with the database. */
  secret(): string
  readonly signer: FindSigner
  /** The name of the database as its clients know it. */
  name(): string
  readonly clock: Clock
}

interface DocumentIdentityRow {
  create(upstream: DocumentUpstreamIdentity): ToIdentityHeaders
  /** What to check if the database rejects it. */
  readonly advice: string
  /** The handler of CouchDB that reads it, and what else its configuration needs. */
  readonly handler: string
  renderLines(secret: string): string
}

/** By the value of `upstream.document-identity`. */
export const DOCUMENT_IDENTITIES = {
  jwt: {
    create: ({ signer, name, clock }) => identityHeadersByDocumentToken(signer, () => name().toLowerCase(), clock),
    advice:
      'In CouchDB: [jwt_keys] hmac:_default = base64 of upstream.document-secret; {chttpd_auth, jwt_authentication_handler} in [chttpd] authentication_handlers; [jwt_auth] required_claims = exp. Compare the clocks.',
    handler: 'jwt_authentication_handler',
    renderLines: (secret) =>
      `[jwt_auth]\nrequired_claims = exp\n[jwt_keys]\nhmac:_default = ${Buffer.from(secret).toString('base64')}`,
  },
  proxy: {
    create: ({ secret, name }) =>
      identityHeadersByProxyHeaders(
        () => toProxyHeaders(name()),
        (user) => mintProxyToken(user, { secret: Buffer.from(secret()), algorithm: 'sha256' }),
      ),
    advice:
      'In CouchDB: [chttpd_auth] secret = upstream.document-secret, proxy_use_secret = true; {chttpd_auth, proxy_authentication_handler} in [chttpd] authentication_handlers.',
    handler: 'proxy_authentication_handler',
    renderLines: (secret) => `[chttpd_auth]\nproxy_use_secret = true\nsecret = ${secret}`,
  },
} as const satisfies Readonly<Record<string, DocumentIdentityRow>>

export type DocumentIdentityKind = keyof typeof DOCUMENT_IDENTITIES

/** CouchDB's default names. The options for header names apply to requests to Cardea, not to CouchDB. */
export const toProxyHeaders = (name: string) => ({
  username: `X-Auth-${name}-UserName`,
  roles: `X-Auth-${name}-Roles`,
  token: `X-Auth-${name}-Token`,
})

interface MultiModelUpstreamIdentity {
  readonly signer: FindSigner
  readonly issuer: string
  /** The database user that administrators act as. */
  admin(): string
  readonly clock: Clock
}

interface MultiModelIdentityRow {
  create(upstream: MultiModelUpstreamIdentity): ToIdentityHeaders
  /** Whether Cardea signs it, with a secret that is shared with the database. */
  readonly isSigned: boolean
}

/** By the value of `upstream.multi-model-identity`. */
export const MULTI_MODEL_IDENTITIES = {
  user: {
    create: ({ signer, issuer, admin, clock }) => identityHeadersByUserToken(signer, issuer, admin, clock),
    isSigned: true,
  },
  client: { create: ({ admin }) => identityHeadersByClient(admin), isSigned: false },
} as const satisfies Readonly<Record<string, MultiModelIdentityRow>>

/** The headers of the kind that is configured at the time of each request. */
export function createIdentityHeaders<Kind extends string, Upstream>(
  rows: Readonly<Record<Kind, { create(upstream: Upstream): ToIdentityHeaders }>>,
  upstream: Upstream,
  kind: () => Kind,
): ToIdentityHeaders {
  const entries = Object.entries<{ create(upstream: Upstream): ToIdentityHeaders }>(rows)
  // `rows` has every kind, so this has too
  const created = Object.fromEntries(entries.map(([name, row]) => [name, row.create(upstream)])) as Record<
    Kind,
    ToIdentityHeaders
  >
  return (who) => created[kind()](who)
}
