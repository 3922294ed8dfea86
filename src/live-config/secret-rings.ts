// Secrets in files, loaded at the start and whenever the files change: those of the multi-model door's tokens, and
// those that sign for ArangoDB.
import type { Log } from '../base/log.ts'
import { deriveSecret, type Siblings, type Topic } from '../base/siblings.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import { StartError } from '../kernel/start-error.ts'
import { createLiveRing, type LiveRing } from '../keys/live-ring.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { CreateBytes } from '../keys/secret.ts'
import {
  type LoadedRing,
  loadSecretRing,
  type RingLoad,
  reloadSecretRing,
  type SecretSource,
} from '../keys/secret-files.ts'
import { createTokenCache } from '../keys/token-cache.ts'
import type { Claims } from '../keys/verify.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { LiveConfig } from './live-config.ts'
import type { Digests, PreparedPart } from './reload.ts'
import { keysOf, refuseShared, type SharedSecrets, USES, type Use } from './shared-secrets.ts'

export type TokenSecrets = Awaited<ReturnType<typeof openTokenSecrets>>

export const toSecretSource = ({ server }: Config): SecretSource => ({
  secret: server['jwt-secret'],
  keyfile: server['jwt-secret-keyfile'],
  folder: server['jwt-secret-folder'],
})

/** The secrets a server with these settings would start with. */
export const loadTokenSecrets = async (
  settings: Settings,
  secrets: SharedSecrets,
  createBytes?: CreateBytes,
): Promise<RingLoad> =>
  refuseShared(await loadSecretRing(toSecretSource(settings.values), createBytes), USES.tokens, settings, secrets)

export async function openTokenSecrets(liveConfig: LiveConfig) {
  const { log, siblings } = liveConfig.kernel
  const { settings } = liveConfig.get()
  const source = toSecretSource(settings.values)
  const createBytes = (size: number) => deriveSecret(siblings.seed, 'tokens', size)
  const first = await loadTokenSecrets(settings, liveConfig.secrets, createBytes)
  if (first.kind === 'refused') throw new StartError(first.reason)
  const warningsOf = createRingWarnings()
  report(first, warningsOf(first), log)
  const cache = createTokenCache<Claims>()
  const listeners: (() => void)[] = []
  const onReload = (load: LoadedRing) => {
    cache.clear()
    for (const warning of warningsOf(load)) log.warn(warning)
    for (const listener of listeners) listener()
  }
  const isWatched = settings.values.server['jwt-secret-watch']
  return {
    ring: followRing(liveConfig, first, { use: USES.tokens, name: TOKEN_SECRET, source, isWatched, onReload }),
    /** Verified tokens; a reload empties it. */
    cache,
    /** Called each time the secrets were replaced. */
    onReload: (listener: () => void) => void listeners.push(listener),
  }
}

interface FollowedSource {
  readonly use: Use
  /** What the names of its options begin with. */
  readonly name: string
  readonly source: SecretSource
  readonly isWatched: boolean
  readonly onReload?: (load: LoadedRing) => void
}

/** The paths are those of the start; a later change of the options needs a restart. Their contents are followed. */
function followRing(liveConfig: LiveConfig, first: LoadedRing, followed: FollowedSource): LiveRing {
  const { use, name, source, isWatched, onReload } = followed
  const hasFiles = Boolean(source.keyfile || source.folder)
  const { siblings, events } = liveConfig.kernel
  const record = createReloadRecord(events, nameSource(name, source))
  const own = createLiveRing(
    first.ring,
    async () => refuseShared(await reloadSecretRing(source), use, liveConfig.get().settings, liveConfig.secrets),
    (load) => {
      // once for all siblings
      if (siblings.isFirst()) record(load)
      if (load.kind === 'ring') onReload?.(load)
      if (load.kind === 'ring') tellIfChanged(load.ring)
    },
    hasFiles && isWatched ? { source } : undefined,
  )
  const { ring, tellIfChanged } = shareRing(own, siblings, name, record)
  liveConfig.secrets.register(use, () => keysOf(ring.get()))
  const digests = () => toDigests(ring.get(), followed)
  if (hasFiles) liveConfig.joinReload({ digests, prepare: () => prepareReload(ring, followed) })
  return ring
}

const createReloadRecord =
  (events: SecurityEvents, source: string) =>
  (load: RingLoad): void => {
    if (load.kind === 'ring') events.record('secrets.reloaded', { source })
    else events.record('reload.failed', { source, reason: load.reason })
  }

/** A reload of the ring is one of all siblings. One that sees changed files tells the others. */
function shareRing(own: LiveRing, siblings: Siblings, name: string, record: (load: RingLoad) => void) {
  const topic: Topic<undefined, string> = { name: `reload ${name}` }
  let known = listHashes(own.get())
  const tell = () => siblings.tellAll(topic, undefined)
  siblings.answer(topic, async () => {
    await own.reload()
    return listHashes(own.get())
  })
  const ring: LiveRing = {
    ...own,
    get problem() {
      return own.problem
    },
    async reload() {
      const load = await own.reload()
      // a request has asked for it here: it is recorded with its author
      if (!siblings.isFirst()) record(load)
      const others = await tell()
      // the files have changed between two of them
      if (!others.every((hashes) => hashes === listHashes(own.get()))) {
        await own.reload()
        await tell()
      }
      return load
    },
  }
  return {
    ring,
    tellIfChanged(next: KeyRing): void {
      if (listHashes(next) === known) return
      known = listHashes(next)
      void tell().catch(() => {})
    },
  }
}

/** Whether a secret has another use is checked once every part is read. */
async function prepareReload(ring: LiveRing, followed: FollowedSource): Promise<PreparedPart> {
  const { use, name, source } = followed
  const { load, take: apply } = await ring.prepare(() => reloadSecretRing(source))
  const option = nameSource(name, source)
  if (load.kind === 'refused') return { problems: [`${option}: ${load.reason}`], digests: new Map(), apply }
  const isSame = listHashes(load.ring) === listHashes(ring.get())
  const count = load.ring.verifying.length
  return {
    problems: [],
    digests: toDigests(load.ring, followed),
    apply,
    secrets: [use, keysOf(load.ring)],
    ...(!isSame && { replaced: `${option} (${count} ${count === 1 ? 'secret' : 'secrets'})` }),
  }
}

const toDigests = (ring: KeyRing, { name, source: { folder, keyfile } }: FollowedSource): Digests =>
  new Map([[`${name} ${folder || keyfile}`, listHashes(ring)]])

/** Equal for rings with the same secrets in the same order. */
const listHashes = ({ verifying }: KeyRing): string => verifying.map(({ sha256 }) => sha256).join()

function report({ source }: LoadedRing, warnings: readonly string[], log: Log): void {
  if (source === 'random')
    log.info('no secret for tokens is configured: generated a temporary one; tokens stop working after a restart')
  if (source === 'secret') log.warn('server.jwt-secret is insecure: use server.jwt-secret-keyfile instead')
  for (const warning of warnings) log.warn(warning)
}

/** The option that names the secrets: it begins with `option`. */
export function nameSource(option: string, { folder, keyfile }: SecretSource): string {
  if (folder) return `${option}-folder`
  return keyfile ? `${option}-keyfile` : option
}

export const TOKEN_SECRET = 'server.jwt-secret'
export const UPSTREAM_SECRET = 'upstream.multi-model-secret'

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

export const toUpstreamSource = ({ upstream }: Config): SecretSource => ({
  keyfile: upstream['multi-model-secret-keyfile'],
  folder: upstream['multi-model-secret-folder'],
})

/** Loads the secrets that sign for ArangoDB; `undefined` where none is configured. */
export async function loadUpstreamSecrets(settings: Settings, secrets: SharedSecrets): Promise<RingLoad | undefined> {
  const source = toUpstreamSource(settings.values)
  if (!source.keyfile && !source.folder) return undefined
  return refuseShared(await loadSecretRing(source), USES.upstream, settings, secrets)
}

export async function openUpstreamSecrets(liveConfig: LiveConfig): Promise<LiveRing | undefined> {
  const { settings } = liveConfig.get()
  const first = await loadUpstreamSecrets(settings, liveConfig.secrets)
  if (first === undefined) return undefined
  if (first.kind === 'refused') throw new StartError(`The secret for upstream.multi-model: ${first.reason}`)
  for (const { text } of first.warnings) liveConfig.kernel.log.warn(text)
  const source = toUpstreamSource(settings.values)
  return followRing(liveConfig, first, { use: USES.upstream, name: UPSTREAM_SECRET, source, isWatched: true })
}
