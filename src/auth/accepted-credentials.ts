/**
 * Which credentials each listener accepts, one row for each. What a row does not name is refused: a credential of
 * another kind is not read, and one with another limit leaves the request anonymous.
 */
import type { Authenticated } from '../directory/identity.ts'
import type { CredentialHandler, CredentialKind } from './handler.ts'

type Limited = Pick<Authenticated, 'scope' | 'bearer'>

/** How a credential can be valid for less than its user may do. */
const LIMITS = {
  /** An access token for some databases and services. */
  scope: ({ scope }: Limited) => scope !== undefined,
  /** A token for some paths. */
  paths: ({ bearer }: Limited) => bearer?.allowedPaths !== undefined,
} as const

type Limit = keyof typeof LIMITS

const LIMIT_NAMES = Object.keys(LIMITS) as readonly Limit[]

export interface AcceptedCredentials {
  readonly kinds: readonly CredentialKind[]
  /** The limits that are enforced there. */
  readonly limits: readonly Limit[]
}

const DOCUMENT = ['jwt', 'proxy', 'cookie', 'default', 'certificate'] as const
const MULTI_MODEL = ['bearer', 'basic', 'certificate'] as const

/**
 * `…Entry`: the open paths of other dialects at a door, while the door requires a credential on every path. A request to
 * the forward-auth endpoint comes from a proxy, so a certificate is that of the proxy and not of the user.
 */
export const ACCEPTED = {
  document: { kinds: DOCUMENT, limits: ['scope'] },
  documentEntry: { kinds: DOCUMENT, limits: [] },
  documentAdminApi: { kinds: ['jwt', 'proxy', 'default', 'certificate'], limits: [] },
  documentForwardAuth: { kinds: ['jwt', 'proxy', 'cookie', 'default'], limits: [] },
  multiModel: { kinds: MULTI_MODEL, limits: ['scope', 'paths'] },
  multiModelEntry: { kinds: MULTI_MODEL, limits: ['paths'] },
  multiModelAdminApi: { kinds: MULTI_MODEL, limits: [] },
  multiModelForwardAuth: { kinds: ['bearer', 'basic'], limits: [] },
  adminEndpoint: { kinds: ['default'], limits: [] },
  /** `authenticate()` of the library, with the credentials of either door. */
  library: { kinds: [...DOCUMENT, ...MULTI_MODEL], limits: ['scope'] },
} as const satisfies Readonly<Record<string, AcceptedCredentials>>

/** The handlers of a listener, and the limits it enforces. */
export interface AcceptedHandlers extends Pick<AcceptedCredentials, 'limits'> {
  readonly handlers: readonly CredentialHandler[]
}

export const selectHandlers = (
  handlers: readonly CredentialHandler[],
  { kinds, limits }: AcceptedCredentials,
): AcceptedHandlers => ({ handlers: handlers.filter(({ name }) => kinds.includes(name)), limits })

/** For a credential that another listener has accepted. */
export const isAccepted = (authenticated: Authenticated, accepted: AcceptedCredentials): boolean =>
  accepted.kinds.some((kind) => kind === authenticated.by) && findUnenforcedLimit(authenticated, accepted) === undefined

/** A limit of the credential that is not enforced. */
export const findUnenforcedLimit = (
  credential: Limited,
  { limits }: Pick<AcceptedCredentials, 'limits'>,
): Limit | undefined => LIMIT_NAMES.find((limit) => LIMITS[limit](credential) && !limits.includes(limit))
