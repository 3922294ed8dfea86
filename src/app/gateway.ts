// What both doors share of the way to the servers behind them: whose streams are open, and what signs for whom.
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import type { Exchange } from '../door/exchange.ts'
import type { Directory } from '../identity/directory.ts'
import type { Authenticated } from '../identity/identity.ts'
import { createLiveRing, type LiveRing } from '../keys/live-ring.ts'
import type { KeyRing } from '../keys/ring.ts'
import { loadSecretRing, type RingLoad, reloadSecretRing, type SecretSource } from '../keys/secret-files.ts'
import type { Upstream } from '../upstream/forward.ts'
import { createOpenStreams, type OpenStreams } from '../upstream/open-streams.ts'
import { openServiceKey, type ServiceKey } from './service-key.ts'
import { StartError } from './start-error.ts'
import type { PreparedPart, State } from './state.ts'
import type { TokenSecrets } from './token-secrets.ts'

export interface Gateway {
  readonly streams: OpenStreams
  /** What signs for the multi-model database; `undefined` where nothing is to. */
  readonly ring: LiveRing | undefined
  /** What signs for services. */
  readonly serviceKey: ServiceKey
  /** The same function, which notes how much had ended before it looked. */
  note(identify: Identify): Identify
  /** Closed with everything else. */
  adopt(upstream: Upstream): Upstream
  close(): Promise<void>
}

export type Identify = (exchange: Exchange) => Promise<Authenticated>

export interface GatewayNeeds {
  readonly state: State
  readonly directory: Directory
  readonly tokenSecrets: TokenSecrets
  readonly log: Log
}

/** How often it is looked which tokens have run out. */
const LOOK_MS = 1000

export async function openGateway(needs: GatewayNeeds): Promise<Gateway> {
  const { state, directory, tokenSecrets } = needs
  const streams = createOpenStreams()
  const ring = await openUpstreamRing(needs)
  const serviceKey = openServiceKey(state.get().settings.values)
  const upstreams: Upstream[] = []
  const stopListening = directory.onEnded(streams.end)
  // once all who follow the settings have theirs: by keys that are just being replaced a stream would still hold
  state.onChange(() => queueMicrotask(streams.judgeAll))
  tokenSecrets.onReload(() => streams.judgeAll())
  const looking = setInterval(() => streams.expire(nowSeconds(SYSTEM_CLOCK)), LOOK_MS).unref()
  return {
    streams,
    ring,
    serviceKey,
    note: (identify) => (exchange) => {
      exchange.judgedAt ??= streams.epoch
      return identify(exchange)
    },
    adopt(upstream) {
      upstreams.push(upstream)
      return upstream
    },
    async close() {
      clearInterval(looking)
      stopListening()
      ring?.stop()
      await Promise.all(upstreams.map((upstream) => upstream.close()))
    },
  }
}

const toSource = ({ upstream }: Config): SecretSource => ({
  keyfile: upstream['multi-model-secret-keyfile'],
  folder: upstream['multi-model-secret-folder'],
})

/** Places are those of the start; what stands there is followed. */
async function openUpstreamRing({ state, tokenSecrets, log }: GatewayNeeds): Promise<LiveRing | undefined> {
  const source = toSource(state.get().settings.values)
  if (!source.keyfile && !source.folder) return undefined
  const check = (load: RingLoad) => refuseShared(load, tokenSecrets.ring.get())
  const first = check(await loadSecretRing(source))
  if (first.kind === 'refused') throw new StartError(`The secret for upstream.multi-model: ${first.message}`)
  for (const { text } of first.warnings) log.warn(text)
  const ring = createLiveRing({
    initial: first.ring,
    load: async () => check(await reloadSecretRing(source)),
    onReload: (load) => {
      if (load.kind === 'refused') log.error('secrets for upstream.multi-model not reloaded', { reason: load.message })
    },
    watch: { source },
  })
  state.joinReload({ prepare: () => prepareReload(ring) })
  return ring
}

async function prepareReload(ring: LiveRing): Promise<PreparedPart> {
  const { load, take } = await ring.prepare()
  return { problems: load.kind === 'refused' ? [`upstream.multi-model-secret: ${load.message}`] : [], take }
}

/** Whoever can sign for the database behind must not be able to sign for Cardea, nor the other way round. */
function refuseShared(load: RingLoad, own: KeyRing): RingLoad {
  if (load.kind === 'refused') return load
  const digests = new Set(own.verifying.map(({ sha256 }) => sha256))
  const isShared = load.ring.verifying.some(({ sha256 }) => digests.has(sha256))
  const message = 'it is also a secret of server.jwt-secret-*: they must be different'
  return isShared ? { kind: 'refused', errorNum: 10, message } : load
}
