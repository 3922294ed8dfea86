import type { Metrics } from './metrics.ts'

export interface CacheUses {
  readonly hits: number
  readonly misses: number
}

/** Adds the uses of one cache, which counts them itself. */
export function addCacheMetrics(metrics: Metrics, cache: string, uses: CacheUses): void {
  metrics.collect('cardea_cache_uses_total', () => [
    { labels: { cache, result: 'hit' }, value: uses.hits },
    { labels: { cache, result: 'miss' }, value: uses.misses },
  ])
}
