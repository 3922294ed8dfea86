// The secrets that sign and verify tokens of the multi-model door: loaded at start, then as their files change.
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import { createLiveRing, type LiveRing } from '../keys/live-ring.ts'
import { type KeyRing, sha256Hex } from '../keys/ring.ts'
import { createRingWarnings } from '../keys/ring-warnings.ts'
import {
  type LoadedRing,
  loadSecretRing,
  type RingLoad,
  reloadSecretRing,
  type SecretSource,
} from '../keys/secret-files.ts'
import type { Claims } from '../keys/token.ts'
import { createTokenCache, type TokenCache } from '../keys/token-cache.ts'
import { StartError } from './start-error.ts'
import type { PreparedPart, State } from './state.ts'

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
export const loadTokenSecrets = async (settings: Settings): Promise<RingLoad> =>
  refuseShared(await loadSecretRing(toSecretSource(settings.values)), settings)

/** Places of files are those of the start, whatever the configuration says later. */
export async function openTokenSecrets(state: State, log: Log): Promise<TokenSecrets> {
  const { values } = state.get().settings
  const source = toSecretSource(values)
  const first = await loadTokenSecrets(state.get().settings)
  if (first.kind === 'refused') throw new StartError(first.message)
  const warningsOf = createRingWarnings()
  report(first, warningsOf(first), log)
  const cache = createTokenCache<Claims>()
  const listeners: (() => void)[] = []
  const hasFiles = Boolean(source.keyfile || source.folder)
  const ring = createLiveRing({
    initial: first.ring,
    load: async () => refuseShared(await reloadSecretRing(source), state.get().settings),
    onReload: (load) => {
      if (load.kind === 'ring') cache.clear()
      reportReload(load, load.kind === 'ring' ? warningsOf(load) : [], log)
      if (load.kind === 'ring') for (const listener of listeners) listener()
    },
    ...(hasFiles && values.server['jwt-secret-watch'] ? { watch: { source } } : {}),
  })
  state.joinReload({
    prepare: (settings) => (hasFiles ? prepareReload(ring, source, settings) : checkKept(ring, settings)),
  })
  return { ring, cache, onReload: (listener) => void listeners.push(listener) }
}

/** Judged beside the settings that come with it, not beside those in force. */
async function prepareReload(ring: LiveRing, source: SecretSource, settings: Settings): Promise<PreparedPart> {
  const { load, take } = await ring.prepare(async () => refuseShared(await reloadSecretRing(source), settings))
  const place = source.folder ? 'server.jwt-secret-folder' : 'server.jwt-secret-keyfile'
  return { problems: load.kind === 'refused' ? [`${place}: ${load.message}`] : [], take }
}

async function checkKept(ring: LiveRing, { values, open }: Settings): Promise<PreparedPart> {
  const other = findShared(ring.get(), values, open)
  return { problems: other === undefined ? [] : [`server.jwt-secret: ${toShared(other)}`], take: () => {} }
}

const toShared = (other: string): string => `a secret of tokens is also ${other}: they must be different`

/** A secret that also does something else would let one kind of proof pass for another. */
function refuseShared(load: RingLoad, { values, open }: Settings): RingLoad {
  const other = load.kind === 'ring' ? findShared(load.ring, values, open) : undefined
  if (other === undefined) return load
  return { kind: 'refused', errorNum: 10, message: toShared(other) }
}

function findShared({ verifying }: KeyRing, values: Config, open: Settings['open']): string | undefined {
  const others: (readonly [string, Uint8Array])[] = [
    ['chttpd_auth.secret', Buffer.from(values.chttpd_auth.secret)],
    ['upstream.document-secret', Buffer.from(values.upstream['document-secret'])],
    ...open.jwt_keys
      .filter(({ key }) => key.startsWith('hmac:'))
      .map(({ key, text }) => [`[jwt_keys] ${key}`, Buffer.from(text, 'base64')] as const),
  ]
  const digests = new Set(verifying.map(({ sha256 }) => sha256))
  return others.find(([, secret]) => secret.length > 0 && digests.has(sha256Hex(secret)))?.[0]
}

function report({ source }: LoadedRing, warnings: readonly string[], log: Log): void {
  if (source === 'random') log.info('no secret for tokens is configured: one was made, and ends with this process')
  if (source === 'secret') log.warn('server.jwt-secret is insecure: use server.jwt-secret-keyfile instead')
  for (const warning of warnings) log.warn(warning)
}

function reportReload(load: RingLoad, warnings: readonly string[], log: Log): void {
  if (load.kind === 'refused') {
    log.error('secrets of tokens not reloaded', { reason: load.message })
    return
  }
  log.info('secrets of tokens reloaded', { keys: load.ring.verifying.length })
  for (const warning of warnings) log.warn(warning)
}
