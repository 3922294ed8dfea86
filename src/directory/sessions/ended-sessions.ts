import { type Clock, nowSeconds } from '../../base/clock.ts'
import type { Revocation } from '../deps.ts'
import type { EndedCount, EndedSession, SessionStore } from '../store-port/sessions.ts'

/** Beyond this many records of one name, its session epoch is raised instead and the records are forgotten. */
export const MAX_ENDED_SESSIONS = 1000

/**
 * Beyond this many records of sessions opened with one access token, that token is removed. With one token of another
 * issuer, all its sessions end.
 */
export const MAX_ENDED_OF_TOKEN = 100

const MARK_SEPARATOR = ':'

/** The name under which the sessions of one token are counted. A user's name has no colon, so they differ. */
export const toTokenCounter = (name: string, mark: string): string => `${name}${MARK_SEPARATOR}${mark}`

/**
 * The name of the record of a session that a sign-in of its user has replaced: the counter of such sessions, and the id
 * of the session that took its place. They are counted apart, for the owner or for the token that opened them.
 */
export const toReplacedCounter = (name: string, mark = '', successor = ''): string =>
  toTokenCounter(toTokenCounter(name, mark), successor)

function readCounter(counter: string) {
  const [name = counter, mark, successor] = counter.split(MARK_SEPARATOR)
  return { name, successor, group: successor === undefined ? counter : toReplacedCounter(name, mark) }
}

/**
 * A session is counted for its owner or for a token. A record whose id is the mark of its counter ends all sessions of
 * that token.
 */
function toRevocation({ id, name: counter }: EndedSession): Revocation {
  const { name, successor } = readCounter(counter)
  if (successor !== undefined) return { kind: 'session', id, name, successor }
  return counter === toTokenCounter(name, id) ? { kind: 'account', name } : { kind: 'session', id, name }
}

const PAGE_SIZE = 1000
const SECONDS_BETWEEN_PURGES = 60

export type EndedSessions = ReturnType<typeof createEndedSessions>

/** Sessions that were ended before they expired, kept in memory until then. */
export function createEndedSessions(store: SessionStore, clock: Clock) {
  const { has, findSuccessor, count, add, keep } = createMemory()
  let purgedAt = nowSeconds(clock)
  const purge = (): void => {
    const now = nowSeconds(clock)
    if (now - purgedAt < SECONDS_BETWEEN_PURGES) return
    purgedAt = now
    keep(({ expiresAt }) => expiresAt > now)
    // if it fails, the next purge removes these too
    store.purgeEnded(now).catch(() => {})
  }
  /** If a name has too many, forgets those that another node has removed from the store. */
  const trim = async (name: string): Promise<void> => {
    if (count(name) <= MAX_ENDED_SESSIONS) return
    const kept = new Set(await store.listEndedIds(name))
    keep((session) => session.name !== name || kept.has(session.id))
  }
  return {
    has,
    /** The session that has taken the place of this one; `undefined`: none has. */
    findSuccessor,
    /** How many ended sessions this node knows of a name. */
    count,
    /** Ends one on every node. */
    async end(session: EndedSession): Promise<EndedCount> {
      const outcome = await store.endSession(session)
      add(session)
      purge()
      return outcome
    },
    /** Loads the sessions that any node has ended after this sequence. Returns what that revoked. */
    load(after: number): Promise<readonly Revocation[]> {
      purge()
      return loadEnded(store, after, add)
    },
    /** Forgets a name's sessions that ended up to this sequence. The session epoch must have revoked them already. */
    async forget(name: string, upTo: number): Promise<void> {
      await store.forgetEndedSessions(name, upTo)
      await trim(name)
    },
    trim,
  }
}

async function loadEnded(store: SessionStore, after: number, add: (session: EndedSession) => void) {
  const revoked: Revocation[] = []
  for (let position = after; ; ) {
    const page = await store.listEndedSessions(position, PAGE_SIZE)
    for (const session of page) add(session)
    revoked.push(...page.map(toRevocation))
    position = page.at(-1)?.sequence ?? position
    if (page.length < PAGE_SIZE) return revoked
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
    findSuccessor(id: string) {
      const session = sessions.get(id)
      return session && readCounter(session.name).successor
    },
    count,
    add({ id, name, expiresAt }: EndedSession) {
      const known = sessions.get(id)
      if (!known) addTo(readCounter(name).group, 1)
      // keep the name it was counted for
      sessions.set(id, { id, name: known?.name ?? name, expiresAt: Math.max(expiresAt, known?.expiresAt ?? 0) })
    },
    keep(isKept: (session: EndedSession) => boolean) {
      for (const [id, session] of sessions) {
        if (isKept(session)) continue
        sessions.delete(id)
        addTo(readCounter(session.name).group, -1)
      }
    },
  }
}
