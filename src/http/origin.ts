import { isAnonymous } from '../directory/identity.ts'
import type { OriginFields } from '../observe/security-event-table.ts'
import type { RequestContext } from './request-context.ts'

/** What a security event records of the request it happened in. */
export function describeOrigin(context: RequestContext, door: string): OriginFields {
  const { id, client, authenticated } = context
  return {
    actor: describeActor(authenticated),
    peer: client.address || undefined,
    door,
    handler: authenticated?.by ?? undefined,
    request: id,
  }
}

/** Identities without a name. No user can have such a name: none begins with an underscore. */
function describeActor(authenticated: RequestContext['authenticated']): string | undefined {
  if (isAnonymous(authenticated)) return undefined
  const { name, isSuperuser } = authenticated.identity
  if (name !== null) return name
  return isSuperuser ? '_superuser' : '_owner'
}
