import { isAnonymous } from '../directory/identity.ts'
import type { OriginFields } from '../observe/security-event-table.ts'
import type { RequestHead, RequestIdentity } from './request-context.ts'

/** The fields of a security event that describe the request during which it happened. */
export function describeOrigin(context: RequestHead & RequestIdentity): OriginFields {
  const { id, client, door, authenticated } = context
  return {
    actor: describeActor(authenticated),
    peer: client.address || undefined,
    door,
    handler: authenticated?.credential?.handler,
    request: id,
  }
}

/** The names for identities without one begin with an underscore, which no user name does. */
function describeActor(authenticated: RequestIdentity['authenticated']): string | undefined {
  if (isAnonymous(authenticated)) return undefined
  const { name, isSuperuser } = authenticated.identity
  if (name !== null) return name
  return isSuperuser ? '_superuser' : '_owner'
}
