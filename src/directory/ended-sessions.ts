import { type Clock, nowSeconds } from '../base/clock.ts'
import type { EndedCount, EndedSession, SessionStore } from './store-port.ts'

/** Sessions that were ended before their time, in memory until they would have expired anyway. */
export interface EndedSessions {
  has(id: string): boolean
  /** Ends one for every node. */
  end(session: EndedSession): Promise<EndedCount>
  /** Learns what ended elsewhere since the last time. Gives those, each with the name of its owner. */
  pull(): Promise<readonly EndedSession[]>
  /** Reads all of them again: the store is not the one it was. What ended stays ended. */
  reset(): Promise<void>
  /** Forgets a name's sessions that ended up to this change. All of them must be ended by the session epoch already. */
  forget(name: string, upTo: number): Promise<void>
  /** Forgets here what another node has forgotten, where a name has more than it may have. */
  trim(name: string): Promise<void>
}

/** Beyond so many records of one name, the session epoch ends all its sessions and the records are forgotten. */
export const MAX_ENDED_SESSIONS = 1000

/** Beyond so many records of sessions that rest on one access token, that token is removed. They expire by themselves. */
export const MAX_ENDED_OF_ACCESS_TOKEN = 100

const MARK_SEPARATOR = ':'

/** The name under which sessions of one access token are counted: apart from their owner, whose name has no colon. */
export const toTokenCounter = (name: string, mark: string): string => `${name}${MARK_SEPARATOR}${mark}`

/** Whose session it is, whatever it was counted under. */
export const toSessionOwner = (counter: string): string => counter.split(MARK_SEPARATOR, 1)[0] ?? counter

const PAGE = 1000
const SECONDS_BETWEEN_PURGES = 60

export function createEndedSessions(store: SessionStore, clock: Clock): EndedSessions {
  const memory = createMemory()
  let position = 0
  let purgedAt = nowSeconds(clock)

  const purge = () => {
    const now = nowSeconds(clock)
    if (now - purgedAt < SECONDS_BETWEEN_PURGES) return
    purgedAt = now
    memory.keep(({ expiresAt }) => expiresAt > now)
    // whoever purges next will do what fails now
    store.purgeEnded(now).catch(() => {})
  }

  const pull = async () => {
    const learnt: EndedSession[] = []
    for (;;) {
      const page = await store.listEndedSessions(position, PAGE)
      for (const session of page) memory.add(session)
      learnt.push(...page.map((session) => ({ ...session, name: toSessionOwner(session.name) })))
      position = page.at(-1)?.sequence ?? position
      if (page.length < PAGE) return learnt
    }
  }

  const trim = async (name: string) => {
    if (memory.count(name) <= MAX_ENDED_SESSIONS) return
    const kept = new Set(await store.listEndedIds(name))
    memory.keep((session) => session.name !== name || kept.has(session.id))
  }

  return {
    has: memory.has,
    async end(session) {
      const outcome = await store.endSession(session)
      memory.add(session)
      purge()
      return outcome
    },
    async pull() {
      purge()
      return pull()
    },
    async reset() {
      position = 0
      await pull()
    },
    async forget(name, upTo) {
      await store.forgetEndedSessions(name, upTo)
      await trim(name)
    },
    trim,
  }
}

/** Ended sessions by id, and how many each name has. */
function createMemory() {
  const sessions = new Map<string, EndedSession>()
  const counts = new Map<string, number>()
  const count = (name: string) => counts.get(name) ?? 0
  const addTo = (name: string, change: 1 | -1) => {
    const next = count(name) + change
    if (next === 0) counts.delete(name)
    else counts.set(name, next)
  }
  return {
    has: (id: string) => sessions.has(id),
    count,
    add({ id, name, expiresAt }: EndedSession) {
      const known = sessions.get(id)
      if (!known) addTo(name, 1)
      // under the name it was counted for
      sessions.set(id, { id, name: known?.name ?? name, expiresAt: Math.max(expiresAt, known?.expiresAt ?? 0) })
    },
    keep(isKept: (session: EndedSession) => boolean) {
      for (const [id, session] of sessions) {
        if (isKept(session)) continue
        sessions.delete(id)
        addTo(session.name, -1)
      }
    },
  }
}
