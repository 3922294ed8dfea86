// The applications behind a door.
import { createIsOwnCredential } from '../auth/own-credentials.ts'
import { readServices, type ServiceDoor } from '../config/open-sections.ts'
import { holdBackOwnCredentials, type MountedService } from '../dialects/services.ts'
import { createServiceUpstream, OWNS_CORS, type Revalidate } from './gateway.ts'
import type { DoorParts } from './parts.ts'

export function createServices(parts: DoorParts, door: ServiceDoor, revalidate: Revalidate): readonly MountedService[] {
  const { liveConfig, config, tokenSecrets, jwtKeys, providers } = parts
  const isOwnCredential = createIsOwnCredential({ ring: tokenSecrets.ring.get, jwtKeys: jwtKeys.get, providers })
  const services = readServices(liveConfig.get().settings.open.services).filter(({ doors }) => doors.includes(door))
  return services.map((service) => ({
    ...service,
    ownsPreflights: () => service.hasPreflights && !OWNS_CORS[door](config.get()),
    isOwnCredential,
    forward: holdBackOwnCredentials(createServiceUpstream(service, door, parts, revalidate).forward, isOwnCredential),
  }))
}
