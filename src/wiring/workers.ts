// The main thread's half of worker threads: what they are started with, which connections and changes they get.
import { availableParallelism } from 'node:os'
import { WorkerPool } from '../cluster/worker-pool.ts'
import type { Config } from '../config/options.ts'
import type { Door } from '../http/door.ts'
import { openRelayListener } from '../http/relay.ts'
import {
  type Endpoint,
  type HandOver,
  type Listener,
  type ListenerLimits,
  type TlsSettings,
  toServerOptions,
} from '../http/server.ts'
import { LISTENERS, type ListenerName } from '../live-config/endpoints.ts'
import { copySnapshot } from '../live-config/replica.ts'
import { describeKeys, type Parts } from './parts.ts'
import { toListenerLimits, toStopTimeoutMs } from './settings.ts'

const MAX_AUTO = 8

const toCount = ({ server: { workers } }: Config): number =>
  workers === 'auto' ? Math.min(availableParallelism(), MAX_AUTO) : Number(workers)

/** As deep as this file, in the sources and in the package. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? '../worker.ts' : '../worker.js', import.meta.url)

export type Workers = NonNullable<Awaited<ReturnType<typeof openWorkers>>>

/** `undefined`: the main thread serves everything. */
export async function openWorkers(parts: Parts, doors: Readonly<Record<ListenerName, Door>>) {
  const { liveConfig, config, tokenSecrets, guesses, store } = parts
  const count = toCount(config.get())
  if (count === 1) return undefined
  // the type of a key that the object has
  const findDoor = (name: string) => (Object.hasOwn(doors, name) ? doors[name as ListenerName] : undefined)
  const relay = await openRelayListener(findDoor, toServerOptions(toListenerLimits(config.get())))
  const pool = new WorkerPool({
    ...parts,
    count,
    program: PROGRAM,
    generatedKey: liveConfig.generatedKey,
    relayPath: relay.path,
    readState: () => ({ snapshot: copySnapshot(liveConfig.get()), keyVersions: describeKeys(parts) }),
    timeoutMs: () => config.get().server['worker-timeout'] * 1000,
  })
  // in the order of listeners: these are called when the keys have followed
  liveConfig.onChange(() => pool.noteState())
  tokenSecrets.onReload(() => pool.noteState())
  guesses.setFailureListener(() => pool.noteFailure())
  // another node may have changed something
  store.onWake(() => pool.noteChange())
  return {
    start: () => pool.start(),
    check: () => pool.check(),
    noteChange: () => pool.noteChange(),
    roll: () => void pool.roll(toStopTimeoutMs(config.get())),
    lend: (name: ListenerName, endpoint: Endpoint, limits: ListenerLimits) =>
      isLendable(name, endpoint, limits) ? lendListener(pool, name, doors[name], endpoint, limits) : undefined,
    async close(graceMs: number): Promise<void> {
      await pool.close(graceMs)
      relay.close()
    },
  }
}

/**
 * The main thread keeps Unix sockets, whose connections cannot be handed over, and listeners that learn of the client on
 * the connection itself, by the PROXY protocol or a certificate: a relayed request would lack it.
 */
const isLendable = (name: ListenerName, endpoint: Endpoint, { usesProxyProtocol }: ListenerLimits): boolean =>
  LISTENERS[name].isForWorkers === true &&
  endpoint.kind === 'tcp' &&
  endpoint.tls?.clients === undefined &&
  !usesProxyProtocol

function lendListener(pool: WorkerPool, name: string, door: Door, endpoint: Endpoint, limits: ListenerLimits) {
  const number = pool.addListener({ door: name, endpoint, limits })
  const handOver: HandOver = (socket) => pool.handOver(number, socket, (lent) => door.connections.lend(lent))
  return {
    handOver,
    /** The listener, whose certificate the workers follow. */
    follow: (listener: Listener): Listener =>
      Object.assign(Object.create(listener), {
        replaceTls(tls: TlsSettings): void {
          listener.replaceTls(tls)
          pool.replaceTls(number, tls)
        },
      }),
  }
}
