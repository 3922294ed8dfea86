/** How often a cache had what it was asked for. */
export class CacheCounts {
  hits = 0
  misses = 0

  /** Counts one use, and returns what was found. */
  count<T>(found: T): T {
    if (found === undefined) this.misses += 1
    else this.hits += 1
    return found
  }
}
