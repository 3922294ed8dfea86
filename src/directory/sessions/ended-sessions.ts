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
 * A session is counted for its owner or for a token. A record whose id is the mark of its counter ends all sessions of
 * that token.
 */
function toRevocation({ id, name: counter }: EndedSession): Revocation {
  const [name = counter] = counter.split(MARK_SEPARATOR, 1)
  return counter === toTokenCounter(name, id) ? { kind: 'account', name } : { kind: 'session', id, name }
}

const PAGE_SIZE = 1000
const SECONDS_BETWEEN_PURGES = 60

/** Sessions that were ended before they expired, kept in memory until then. */
export class EndedSessions {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #memory = createMemory()
  #purgedAt: number

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#purgedAt = nowSeconds(clock)
  }

  // a property, because callers keep it as a function
  readonly has = (id: string): boolean => this.#memory.has(id)

  /** How many ended sessions this node knows of a name. */
  readonly count = (name: string): number => this.#memory.count(name)

  /** Ends one on every node. */
  async end(session: EndedSession): Promise<EndedCount> {
    const outcome = await this.#store.endSession(session)
    this.#memory.add(session)
    this.#purge()
    return outcome
  }

  /** Loads the sessions that any node has ended after this sequence. Returns what that revoked. */
  async load(after: number): Promise<readonly Revocation[]> {
    this.#purge()
    const revoked: Revocation[] = []
    for (let position = after; ; ) {
      const page = await this.#store.listEndedSessions(position, PAGE_SIZE)
      for (const session of page) this.#memory.add(session)
      revoked.push(...page.map(toRevocation))
      position = page.at(-1)?.sequence ?? position
      if (page.length < PAGE_SIZE) return revoked
    }
  }

  /** Forgets a name's sessions that ended up to this sequence. The session epoch must have revoked them already. */
  async forget(name: string, upTo: number): Promise<void> {
    await this.#store.forgetEndedSessions(name, upTo)
    await this.trim(name)
  }

  /** If a name has too many, forgets those that another node has removed from the store. */
  async trim(name: string): Promise<void> {
    if (this.#memory.count(name) <= MAX_ENDED_SESSIONS) return
    const kept = new Set(await this.#store.listEndedIds(name))
    this.#memory.keep((session) => session.name !== name || kept.has(session.id))
  }

  #purge(): void {
    const now = nowSeconds(this.#clock)
    if (now - this.#purgedAt < SECONDS_BETWEEN_PURGES) return
    this.#purgedAt = now
    this.#memory.keep(({ expiresAt }) => expiresAt > now)
    // if it fails, the next purge removes these too
    this.#store.purgeEnded(now).catch(() => {})
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
      // keep the name it was counted for
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
