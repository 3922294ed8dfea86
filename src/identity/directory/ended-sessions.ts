import { type Clock, nowSeconds } from '../../base/clock.ts'
import type { EndedSession, SessionStore } from '../ports.ts'

/** Sessions that were ended before their time, in memory until they would have expired anyway. */
export interface EndedSessions {
  has(id: string): boolean
  /** Ends one for every node. */
  end(session: EndedSession): Promise<void>
  /** Learns what ended elsewhere since the last time. Gives those. */
  pull(): Promise<readonly EndedSession[]>
  /** Reads all of them again: the store is not the one it was. What ended stays ended. */
  reset(): Promise<void>
}

const PAGE = 1000
const SECONDS_BETWEEN_PURGES = 60

export function createEndedSessions(store: SessionStore, clock: Clock): EndedSessions {
  const expiries = new Map<string, number>()
  let position = 0
  let purgedAt = nowSeconds(clock)

  const remember = ({ id, expiresAt }: EndedSession) => expiries.set(id, Math.max(expiresAt, expiries.get(id) ?? 0))

  const purge = () => {
    const now = nowSeconds(clock)
    if (now - purgedAt < SECONDS_BETWEEN_PURGES) return
    purgedAt = now
    for (const [id, expiresAt] of expiries) if (expiresAt <= now) expiries.delete(id)
    // whoever purges next will do what fails now
    store.purgeEnded(now).catch(() => {})
  }

  const pull = async () => {
    const learnt: EndedSession[] = []
    for (;;) {
      const page = await store.listEndedSessions(position, PAGE)
      for (const session of page) remember(session)
      learnt.push(...page)
      position = page.at(-1)?.sequence ?? position
      if (page.length < PAGE) return learnt
    }
  }

  return {
    has: (id) => expiries.has(id),
    async end(session) {
      await store.endSession(session)
      remember(session)
      purge()
    },
    async pull() {
      purge()
      return pull()
    },
    async reset() {
      position = 0
      await pull()
    },
  }
}
