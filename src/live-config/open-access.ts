// Warnings about doors and services that serve requests without a credential.
import { readServices, type Service, type ServiceDoor } from '../config/open-sections.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import type { LiveConfig } from './live-config.ts'

/** Logs whether the multi-model door is open, and then each warning that a change of the configuration adds. */
export function warnOpenAccess({ get, onChange, kernel: { log } }: LiveConfig): void {
  const { values, open } = get().settings
  // a change of the services takes effect after a restart
  const services = readServices(open.services)
  const describe = (config: Config) => [...describeOpenDoor(config), ...describeOpen(services, config)]
  for (const line of describeOpenDoor(values)) log.warn(line)
  let before = describe(values)
  onChange('log', ({ settings }) => {
    const now = describe(settings.values)
    for (const line of now) if (!before.includes(line)) log.warn(line)
    before = now
  })
}

const describeOpenDoor = ({ server }: Config): readonly string[] =>
  server.authentication ? [] : ['the multi-model door is OPEN TO ANYONE: server.authentication is false']

/** One warning for each service that requires no credential. */
export const describeOpenServices = ({ values, open }: Settings): readonly string[] =>
  describeOpen(readServices(open.services), values)

/** Whether a door lets anonymous requests pass to applications. */
const IS_OPEN: Readonly<Record<ServiceDoor, (config: Config) => boolean>> = {
  document: ({ chttpd }) => !chttpd.require_valid_user && !chttpd.require_valid_user_except_for_up,
  'multi-model': ({ server }) => !server.authentication || server['authentication-system-only'],
}

const describeOpen = (services: readonly Service[], config: Config): readonly string[] =>
  services
    .filter(({ clients, doors }) => clients === undefined && doors.some((door) => IS_OPEN[door](config)))
    .map(({ name, mount }) => `service ${name} at /${mount.join('/')} is OPEN TO ANYONE`)
