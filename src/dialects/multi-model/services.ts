// Applications mounted behind the multi-model door: which paths are theirs, and which requests reach them.

import { Refusal } from '../../base/errors.ts'
import { SYSTEM_DATABASE } from '../../directory/grants.ts'
import { ANONYMOUS, HELD_BACK, isAnonymous } from '../../directory/identity.ts'
import type { Path, Reply, RequestContext } from '../../http/request-context.ts'
import { mayEnter } from './access.ts'
import { isPreflight } from './cors.ts'
import { checkPath, hasPrefix } from './path.ts'

/** An application and where it is mounted. */
export interface MountedService {
  readonly name: string
  /** The segments of its path. */
  readonly mount: readonly string[]
  /** Whether it requires a credential even where the door does not. */
  readonly isRequired: boolean
  /** Whether it answers CORS preflights itself. */
  readonly ownsPreflights: boolean
  forward(context: RequestContext): Promise<Reply>
}

export type Services = ReturnType<typeof createServices>

/**
 * The service with the longest mount comes first: the first match counts. `isOwnCredential`: whether an `Authorization`
 * header holds a credential of Cardea, valid or not. `ownsCors`: whether Cardea itself decides what other origins may do.
 */
export function createServices(
  services: readonly MountedService[],
  isOwnCredential: (authorization: string) => boolean,
  ownsCors: () => boolean,
) {
  const find = (path: Path): MountedService | undefined =>
    // a path with an API version or a database name belongs to the database
    hasPrefix(path)
      ? undefined
      : services.find(({ mount }) => mount.every((segment, index) => segment === path.segments[index]))
  return {
    /** The name of the service that a path belongs to. */
    findName: (path: Path): string | undefined => find(path)?.name,
    /** The response of the service a path belongs to; `undefined`: it belongs to none. */
    forward(context: RequestContext): Promise<Reply> | undefined {
      const service = find(context.path)
      if (service === undefined) return undefined
      if (service.isRequired) requireEntry(context)
      const authorization = context.header('authorization')
      const isUnaccepted = authorization !== undefined && isAnonymous(context.authenticated ?? ANONYMOUS)
      if (isUnaccepted && isOwnCredential(authorization)) context.authenticated = HELD_BACK
      return service.forward(context)
    },
    /** The same for OPTIONS: only a CORS preflight, and only to a service that answers those itself. */
    forwardPreflight(context: RequestContext): Promise<Reply> | undefined {
      if (ownsCors() || !isPreflight(context) || !isValidPath(context)) return undefined
      const service = find(context.path)
      if (!service?.ownsPreflights) return undefined
      // browsers send no credentials with a preflight, and none is forwarded
      context.authenticated = HELD_BACK
      return service.forward(context)
    },
  }
}

/** OPTIONS is answered for any path, but an invalid path is not forwarded. */
function isValidPath(context: RequestContext): boolean {
  try {
    checkPath(context)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** Requires access to the system database, as every path without a database name does at this door. */
function requireEntry({ authenticated = ANONYMOUS }: RequestContext): void {
  if (!mayEnter(authenticated, SYSTEM_DATABASE)) throw new Refusal('authentication_required')
}
