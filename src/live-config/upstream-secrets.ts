// The secrets that sign for the multi-model database behind the door: loaded at start, then as their files change.
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import { createLiveRing, type LiveRing } from '../keys/live-ring.ts'
import { loadSecretRing, type RingLoad, reloadSecretRing, type SecretSource } from '../keys/secret-files.ts'
import type { LiveConfig, PreparedPart } from './live-config.ts'
import { keysOf, refuseShared, type SharedSecrets, USES } from './shared-secrets.ts'
import { StartError } from './start-error.ts'
import { recordSecretsReload } from './token-secrets.ts'

const toSource = ({ upstream }: Config): SecretSource => ({
  keyfile: upstream['multi-model-secret-keyfile'],
  folder: upstream['multi-model-secret-folder'],
})

/** The secrets a start with these settings would begin with; `undefined`: none is named. */
export async function loadUpstreamSecrets(settings: Settings, secrets: SharedSecrets): Promise<RingLoad | undefined> {
  const source = toSource(settings.values)
  if (!source.keyfile && !source.folder) return undefined
  return refuseShared(await loadSecretRing(source), USES.upstream, settings, secrets)
}

/** Places are those of the start; what stands there is followed. */
export async function openUpstreamSecrets(liveConfig: LiveConfig, log: Log): Promise<LiveRing | undefined> {
  const { settings } = liveConfig.get()
  const first = await loadUpstreamSecrets(settings, liveConfig.secrets)
  if (first === undefined) return undefined
  if (first.kind === 'refused') throw new StartError(`The secret for upstream.multi-model: ${first.message}`)
  for (const { text } of first.warnings) log.warn(text)
  const source = toSource(settings.values)
  const ring = createLiveRing({
    initial: first.ring,
    load: async () =>
      refuseShared(await reloadSecretRing(source), USES.upstream, liveConfig.get().settings, liveConfig.secrets),
    onReload: (load) => recordSecretsReload(liveConfig.events, nameSource(source), load),
    watch: { source },
  })
  liveConfig.secrets.register(USES.upstream, () => keysOf(ring.get()))
  liveConfig.joinReload({ prepare: () => prepareReload(ring, source) })
  return ring
}

/** The option that names the secrets. */
const nameSource = ({ folder }: SecretSource): string =>
  folder ? 'upstream.multi-model-secret-folder' : 'upstream.multi-model-secret-keyfile'

async function prepareReload(ring: LiveRing, source: SecretSource): Promise<PreparedPart> {
  // whether it is shared is seen once everything is read
  const { load, take } = await ring.prepare(() => reloadSecretRing(source))
  if (load.kind === 'refused') return { problems: [`upstream.multi-model-secret: ${load.message}`], take }
  return { problems: [], take, secrets: [USES.upstream, keysOf(load.ring)] }
}
