import type { OriginFields } from '../observe/security-event-table.ts'
import type { Exchange } from './request-context.ts'

/** What a security event records of the request it happened in. */
export function describeOrigin(exchange: Exchange, door: string): OriginFields {
  const { id, client, authenticated } = exchange
  return {
    actor: describeActor(authenticated),
    peer: client.address || undefined,
    door,
    handler: authenticated?.by ?? undefined,
    request: id,
  }
}

/** Identities without a name. No user can have such a name: none begins with an underscore. */
function describeActor(authenticated: Exchange['authenticated']): string | undefined {
  if (!authenticated || authenticated.by === null) return undefined
  const { name, isSuperuser } = authenticated.identity
  if (name !== null) return name
  return isSuperuser ? '_superuser' : '_owner'
}
