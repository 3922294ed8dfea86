// The secrets that sign and verify tokens of the multi-model door: loaded at start, then as their files change.
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import { createLiveRing, type LiveRing } from '../keys/live-ring.ts'
import {
  type LoadedRing,
  loadSecretRing,
  type RingLoad,
  reloadSecretRing,
  type SecretSource,
} from '../keys/secret-files.ts'
import { createTokenCache, type TokenCache } from '../keys/token-cache.ts'
import type { Claims } from '../keys/verify.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { LiveConfig, PreparedPart } from './live-config.ts'
import { keysOf, refuseShared, type SharedSecrets, USES } from './shared-secrets.ts'
import { StartError } from './start-error.ts'

export interface TokenSecrets {
  readonly ring: LiveRing
  /** What is remembered of verified tokens; a reload empties it. */
  readonly cache: TokenCache<Claims>
  /** Told each time other secrets came into force. */
  onReload(listener: () => void): void
}

export const toSecretSource = ({ server }: Config): SecretSource => ({
  secret: server['jwt-secret'],
  keyfile: server['jwt-secret-keyfile'],
  folder: server['jwt-secret-folder'],
})

/** The secrets a start with these settings would begin with. */
export const loadTokenSecrets = async (settings: Settings, secrets: SharedSecrets): Promise<RingLoad> =>
  refuseShared(await loadSecretRing(toSecretSource(settings.values)), USES.tokens, settings, secrets)

/** Places of files are those of the start, whatever the configuration says later. */
export async function openTokenSecrets(liveConfig: LiveConfig, log: Log): Promise<TokenSecrets> {
  const { values } = liveConfig.get().settings
  const source = toSecretSource(values)
  const first = await loadTokenSecrets(liveConfig.get().settings, liveConfig.secrets)
  if (first.kind === 'refused') throw new StartError(first.message)
  const warningsOf = createRingWarnings()
  report(first, warningsOf(first), log)
  const cache = createTokenCache<Claims>()
  const listeners: (() => void)[] = []
  const hasFiles = Boolean(source.keyfile || source.folder)
  const sourceName = nameSource(source)
  const ring = createLiveRing({
    initial: first.ring,
    load: async () =>
      refuseShared(await reloadSecretRing(source), USES.tokens, liveConfig.get().settings, liveConfig.secrets),
    onReload: (load) => {
      if (load.kind === 'ring') cache.clear()
      recordSecretsReload(liveConfig.events, sourceName, load)
      for (const warning of load.kind === 'ring' ? warningsOf(load) : []) log.warn(warning)
      if (load.kind === 'ring') for (const listener of listeners) listener()
    },
    ...(hasFiles && values.server['jwt-secret-watch'] ? { watch: { source } } : {}),
  })
  liveConfig.secrets.register(USES.tokens, () => keysOf(ring.get()))
  if (hasFiles) liveConfig.joinReload({ prepare: () => prepareReload(ring, source) })
  return { ring, cache, onReload: (listener) => void listeners.push(listener) }
}

/** Whether one of them is used for something else is seen once everything is read. */
async function prepareReload(ring: LiveRing, source: SecretSource): Promise<PreparedPart> {
  const { load, take } = await ring.prepare(() => reloadSecretRing(source))
  if (load.kind === 'refused') return { problems: [`${nameSource(source)}: ${load.message}`], take }
  return { problems: [], take, secrets: [USES.tokens, keysOf(load.ring)] }
}

function report({ source }: LoadedRing, warnings: readonly string[], log: Log): void {
  if (source === 'random') log.info('no secret for tokens is configured: one was made, and ends with this process')
  if (source === 'secret') log.warn('server.jwt-secret is insecure: use server.jwt-secret-keyfile instead')
  for (const warning of warnings) log.warn(warning)
}

/** The option that names the secrets. */
const nameSource = ({ folder, keyfile }: SecretSource): string => {
  if (folder) return 'server.jwt-secret-folder'
  return keyfile ? 'server.jwt-secret-keyfile' : 'server.jwt-secret'
}

export function recordSecretsReload(events: SecurityEvents, source: string, load: RingLoad): void {
  if (load.kind === 'ring') events.record('secrets.reloaded', { source })
  else events.record('reload.failed', { source, reason: load.message })
}

/** The warnings of each load that the load before did not have, by secret. */
function createRingWarnings(): (load: LoadedRing) => readonly string[] {
  let known: ReadonlySet<string> = new Set()
  return ({ warnings }) => {
    const isNew = (secret: string | undefined) => secret === undefined || !known.has(secret)
    const texts = warnings.filter(({ secret }) => isNew(secret)).map(({ text }) => text)
    known = new Set(warnings.flatMap(({ secret }) => secret ?? []))
    return texts
  }
}
