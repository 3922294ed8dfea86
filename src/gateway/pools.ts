import type { Pool } from 'undici'
import type { Clock } from '../base/clock.ts'
import { type Balancer, createBalancer } from './balancer.ts'
import { createDirect, type Direct } from './node-client.ts'
import { createPool, type PoolLimits } from './pool.ts'

/** The connections to one server. Feeds have their own, so that thousands of them are in nobody's way. */
export interface Pools {
  readonly requests: Pool
  readonly feeds: Pool
  /** For what undici cannot send. */
  readonly directRequests: Direct
  readonly directFeeds: Direct
  /** What TLS and undici know the server by, whatever host a request names. */
  readonly servername: string
}

export interface LivePools {
  /** As the settings name them now. Those named no longer finish what they have begun. */
  get(): Balancer<Pools>
  close(): Promise<void>
}

export interface PoolsSettings {
  readonly urls: readonly string[]
  readonly limits: PoolLimits
}

export function createLivePools(settings: () => PoolsSettings, clock: Clock): LivePools {
  let made: PoolsSettings | undefined
  let key = ''
  let group: Balancer<Pools> = createBalancer<Pools>([], clock)
  return {
    get() {
      const now = settings()
      if (now === made) return group
      made = now
      const nextKey = JSON.stringify(now)
      if (nextKey === key) return group
      key = nextKey
      void closeAll(group)
      group = createBalancer(
        now.urls.map((url) => [url, openPools(url, now.limits)] as const),
        clock,
      )
      return group
    },
    close: () => destroyAll(group),
  }
}

const openPools = (url: string, limits: PoolLimits): Pools => ({
  requests: createPool(url, limits),
  feeds: createPool(url, { ...limits, firstByteTimeoutMs: 0 }),
  directRequests: createDirect(url, limits),
  directFeeds: createDirect(url, limits),
  servername: new URL(url).hostname,
})

const poolsOf = ({ members }: Balancer<Pools>): readonly Pool[] =>
  members.flatMap(({ pool }) => [pool.requests, pool.feeds])

async function closeAll(group: Balancer<Pools>): Promise<void> {
  await Promise.allSettled(poolsOf(group).map((pool) => pool.close()))
}

async function destroyAll(group: Balancer<Pools>): Promise<void> {
  for (const { pool } of group.members) {
    pool.directRequests.destroy()
    pool.directFeeds.destroy()
  }
  await Promise.allSettled(poolsOf(group).map((pool) => pool.destroy()))
}
