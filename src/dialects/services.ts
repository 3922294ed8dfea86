// What a door forwards to: its database, and applications that are mounted beside it.
import { requireNoAction } from '../auth/required-actions.ts'
import { findLevel, SYSTEM_DATABASE } from '../directory/grants.ts'
import {
  HELD_BACK,
  hasAllRights,
  type Identity,
  identityOf,
  isAnonymous,
  type TokenScope,
} from '../directory/identity.ts'
import type { Reply, RequestContext, RequestHead, Route, Step } from '../http/request-context.ts'

/** The database behind a door. */
export interface DoorUpstream {
  /** Whether one is configured. */
  isSet(): boolean
  /** `target` replaces that of the request. */
  forward(context: RequestContext, target?: string): Promise<Reply>
  /**
   * Reads the whole response body into memory and decodes it. A larger or truncated body is `upstream_failed`. `body`
   * replaces that of the request.
   */
  forwardWhole(context: RequestContext, maxBytes: number, body?: Buffer): Promise<Reply>
}

/** The epoch of the gateway's streams when a request begins: credentials that end after it end the response too. */
export const createEpochStep = (streams: { readonly epoch: number }): Step => ({
  name: 'stream epoch',
  run: (context) => {
    context.streamEpoch ??= streams.epoch
  },
})

export type Asked = Pick<RequestContext, 'method' | 'match'>

/** What the rights of both doors can have. */
export interface DoorRight {
  /** The path belongs to this application. */
  readonly service?: MountedService
  /** Whether a user has it before the required actions, such as a change of the password, are done. */
  isBeforeRequiredActions?(request: Asked, identity: Identity): boolean
}

export const createActionsStep = (rightOf: (context: RequestContext) => DoorRight): Step => ({
  name: 'required actions',
  run(context) {
    const identity = identityOf(context)
    if (!rightOf(context).isBeforeRequiredActions?.(context, identity)) requireNoAction(identity)
  },
})

/** An application and where it is mounted. */
export interface MountedService {
  readonly name: string
  /** The segments of its path. */
  readonly mount: readonly string[]
  /** Which clients it is for. Left out: those that the options of the door let pass. */
  readonly clients?: ServiceClients | undefined
  /** Whether it answers CORS preflights itself. */
  ownsPreflights(): boolean
  /** Whether an `Authorization` header holds a credential of Cardea, valid or not. Others are the application's. */
  isOwnCredential(authorization: string): boolean
  forward(context: RequestContext): Promise<Reply>
}

type ServiceClients = keyof typeof ALLOWED

/** By the word in the line of the service. */
const ALLOWED = {
  user: (identity: Identity) => identity.name !== null || hasAllRights(identity),
  required: (identity: Identity) => findLevel(identity, SYSTEM_DATABASE) !== 'none',
}

export const isClientOf = ({ clients }: MountedService, identity: Identity): boolean =>
  clients === undefined || ALLOWED[clients](identity)

/** The rows that give the paths of services their rights. They have no handler: the fallback of the door forwards. */
export const toServiceRoutes = <Right>(
  services: readonly MountedService[],
  toRight: (service: MountedService) => Right,
): readonly Route<Right>[] =>
  services.map((service) => ({ path: `/${service.mount.join('/')}/{...}`, right: toRight(service) }))

/** Whether an access token is valid for a path: that of the service, or without one that of the database. */
export const coversPath = (scope: TokenScope, service: MountedService | undefined, database: string): boolean =>
  // which requests only read is not known of a service
  service ? scope.access !== 'ro' && scope.services.includes(service.name) : scope.databases.includes(database)

/** A service never sees a credential of Cardea that was not accepted, not even the wrong password of a user. */
export const holdBackOwnCredentials =
  (forward: MountedService['forward'], isOwn: MountedService['isOwnCredential']): MountedService['forward'] =>
  (context) => {
    const authorization = context.header('authorization')
    const isUnaccepted = authorization !== undefined && isAnonymous(context.authenticated)
    if (isUnaccepted && isOwn(authorization)) context.authenticated = HELD_BACK
    return forward(context)
  }

/** Forwards a CORS preflight to a service that answers those itself. */
export function forwardPreflight(
  context: RequestContext,
  service: MountedService | undefined,
): Promise<Reply> | undefined {
  if (!service?.ownsPreflights() || !isPreflight(context)) return undefined
  // browsers send no credentials with a preflight, and none is forwarded
  context.authenticated = HELD_BACK
  return service.forward(context)
}

/**
 * Whether this is the request a browser sends before a page's request to another origin. It has neither a body nor
 * cookies. A preflight is forwarded without a credential, so a request that looks different is not one.
 */
const isPreflight = (context: RequestHead): boolean =>
  context.method === 'OPTIONS' &&
  ORIGIN.test(context.header('origin') ?? '') &&
  METHOD.test(context.header('access-control-request-method') ?? '') &&
  context.header('cookie') === undefined &&
  context.header('transfer-encoding') === undefined &&
  Number(context.header('content-length') ?? 0) === 0

const ORIGIN = /^(?:null|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+)$/i
const METHOD = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i
