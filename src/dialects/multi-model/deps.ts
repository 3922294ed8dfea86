import type { Directory } from '../../directory/directory.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { ConfirmCredential, Handler, Params, PendingReply, RequestContext } from '../../http/request-context.ts'
import type { LiveRing } from '../../keys/live-ring.ts'
import type { CheckHealth } from '../../observe/health.ts'
import type { DoorUpstream, MountedService } from '../services.ts'
import type { RequireClient } from './access.ts'
import type { ServerMode } from './mode.ts'
import { toAskedFormat } from './reply.ts'
import type { Databases, MultiModelSettings } from './settings.ts'
import type { SignInService } from './sign-in.ts'

/** What the checks of a request need, before its route is called. */
export interface CheckDeps {
  /** The service's own name as clients know it: the realm of challenges. */
  readonly name: string
  settings(): MultiModelSettings
  readonly databases: Databases
  /** The streams of the gateway: credentials that end after this epoch end a stream. */
  readonly streams: { readonly epoch: number }
  /** A wrong credential leaves the request anonymous: open paths stay open, the others are rejected later. */
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  /** Left out where the credential cannot be revoked. */
  readonly confirmCredential?: ConfirmCredential
  /** Headers that no preflight allows, in lower case. */
  readonly reservedHeaders: readonly string[]
}

/** What the paths need that Cardea answers in place of an upstream. */
export interface StandInDeps extends Pick<CheckDeps, 'settings' | 'databases'> {
  /** The version of the interface that clients see. */
  readonly version: string
  readonly mode: ServerMode
  readonly checkHealth: CheckHealth
}

/** The dependencies of the multi-model dialect. */
export interface MultiModelDeps extends CheckDeps, StandInDeps {
  readonly directory: Directory
  readonly signIns: SignInService
  /** The secrets of tokens. */
  readonly ring: LiveRing
  readonly services: readonly MountedService[]
  readonly upstream: DoorUpstream
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  nowSeconds(): number
}

export type MultiModelHandler = (deps: MultiModelDeps, context: RequestContext, params: Params) => PendingReply

/**
 * Makes a handler of a function that takes the dependencies first, for the clients that `require` lets pass. Its replies
 * are in VelocyPack if the client asks for it, as ArangoDB's shell does.
 */
export const bindDeps =
  (deps: MultiModelDeps) =>
  (require: RequireClient, handler: MultiModelHandler): Handler =>
  async (context, params) => {
    require(context, deps, params)
    return toAskedFormat(await handler(deps, context, params), context)
  }
