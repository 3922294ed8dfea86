import { createLiveCache } from '../../base/caches.ts'
import type { Clock } from '../../base/clock.ts'

const LIFETIME_MS = 24 * 60 * 60 * 1000
/** Every request with a password proves it again. */
const MS_BETWEEN_NOTES = 60_000
/** One account must not use up the memory of all. */
const MAX_PEERS_PER_NAME = 16

/** Peers that proved the password of an account. They can still sign in while others attack the account. */
export interface KnownPeers {
  /** `version` is that of the stored password. */
  isKnown(name: string, version: string, peer: string): boolean
  remember(name: string, version: string, peer: string): void
  forget(name: string, peer: string): void
}

interface Proofs {
  readonly version: string
  readonly atMs: Map<string, number>
}

export function createKnownPeers(max: () => number, clock: Clock): KnownPeers {
  const names = createLiveCache<Proofs>(max)
  return {
    isKnown(name, version, peer) {
      const proofs = names.get(name)
      const atMs = proofs?.version === version ? proofs.atMs.get(peer) : undefined
      return atMs !== undefined && clock.nowMs() - atMs < LIFETIME_MS
    },
    remember(name, version, peer) {
      const known = names.get(name)
      const proofs = known?.version === version ? known : { version, atMs: new Map<string, number>() }
      if (proofs !== known) names.set(name, proofs)
      if (clock.nowMs() - (proofs.atMs.get(peer) ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_NOTES) return
      // deleted first, so that the map stays in the order of use
      proofs.atMs.delete(peer)
      proofs.atMs.set(peer, clock.nowMs())
      const [oldest] = proofs.atMs.keys()
      if (proofs.atMs.size > MAX_PEERS_PER_NAME && oldest !== undefined) proofs.atMs.delete(oldest)
    },
    forget: (name, peer) => void names.get(name)?.atMs.delete(peer),
  }
}
