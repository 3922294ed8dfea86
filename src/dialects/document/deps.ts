// What the document dialect is built from.
import type { Clock } from '../../base/clock.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { NodeRouteOptions } from './node.ts'
import type { ServerRouteOptions } from './server-routes.ts'
import type { SessionService } from './session.ts'
import type { DocumentSettings } from './settings.ts'
import type { DocumentUpstream } from './upstream.ts'
import type { UsersDeps } from './users/deps.ts'

export interface DocumentDialectOptions {
  /** The service's own name as clients know it. */
  readonly name: string
  /** The version of the interface that clients see. */
  readonly version: string
  readonly product: { readonly name: string; readonly version: string }
  settings(): DocumentSettings
  /** Whether the user data is fresh enough to authenticate requests. */
  isServing(): Promise<boolean>
  authenticate(context: RequestContext): MaybePromise<Authenticated>
  readonly sessions: SessionService
  readonly clock: Clock
  readonly node: NodeRouteOptions
  readonly server: ServerRouteOptions
  readonly users: UsersDeps
  /** Left out where there is no upstream. */
  readonly upstream?: DocumentUpstream
  /** Whether a path belongs to another dialect at this door but is spelled so that its router does not match it. */
  isElsewhere?(segments: readonly string[]): boolean
}
