/**
 * What each client has open at one door, at all processes of the server together. A process tells its siblings of a
 * client only when it has its share of the limit here, or they said so: below that, the sum cannot be too high.
 */
import type { Siblings, Topic } from '../base/siblings.ts'

interface Held {
  readonly place: number
  /** The process has just started. */
  readonly isNew?: boolean
  /** How many each client has open there; 0: it no longer matters. */
  readonly counts: readonly (readonly [client: string, count: number])[]
}

export class ClientCounts {
  readonly #siblings: Siblings
  readonly #topic: Topic<Held>
  readonly #limit: () => number
  readonly #own = new Map<string, number>()
  /** By the place of the sibling. */
  readonly #others = new Map<number, Map<string, number>>()
  /** What was sent to the others last. */
  readonly #sent = new Map<string, number>()
  /** Clients whose counts have changed since. */
  readonly #changed = new Set<string>()

  constructor(door: string, limit: () => number, siblings: Siblings) {
    this.#siblings = siblings
    this.#limit = limit
    this.#topic = { name: `connections ${door}` }
    if (siblings.count === 1) return
    siblings.answer(this.#topic, (held) => this.#receive(held))
    siblings.onEnded((place) => void this.#others.delete(place))
    this.#send({ place: siblings.place, isNew: true, counts: [] })
  }

  /** Counts one more. `own`: how many the client has at this process now; `all`: at all of them, as far as it is known. */
  add(client: string): { readonly own: number; readonly all: number } {
    this.#change(client, 1)
    const own = this.#own.get(client) ?? 0
    return { own, all: own + this.#countOthers(client) }
  }

  release(client: string): void {
    this.#change(client, -1)
  }

  /** Whether the client's `own`th connection here was let in before this process knew of too many at its siblings. */
  isSurplus(client: string, own: number): boolean {
    // almost always
    if (this.#sent.size === 0) return false
    const [limit, others] = [this.#limit(), this.#countOthers(client)]
    const isTooMany = (this.#own.get(client) ?? 0) + others > limit
    return isTooMany && own > Math.max(this.#share(), limit - others)
  }

  #countOthers(client: string): number {
    let sum = 0
    for (const counts of this.#others.values()) sum += counts.get(client) ?? 0
    return sum
  }

  #share(): number {
    return Math.floor(this.#limit() / this.#siblings.count)
  }

  #change(client: string, by: number): void {
    const count = (this.#own.get(client) ?? 0) + by
    if (count === 0) this.#own.delete(client)
    else this.#own.set(client, count)
    this.#note(client)
  }

  /** Changes are sent once in a turn of the event loop. */
  #note(client: string): void {
    if (this.#toSend(client) === (this.#sent.get(client) ?? 0)) return
    if (this.#changed.size === 0) setImmediate(() => this.#flush())
    this.#changed.add(client)
  }

  /** Nothing while each process has less than its share. */
  #toSend(client: string): number {
    if (this.#siblings.count === 1) return 0
    const share = this.#share()
    const own = this.#own.get(client) ?? 0
    const isMany = own >= share || [...this.#others.values()].some((counts) => (counts.get(client) ?? 0) >= share)
    return isMany ? own : 0
  }

  #flush(): void {
    const counts = [...this.#changed].map((client) => [client, this.#toSend(client)] as const)
    this.#changed.clear()
    for (const [client, count] of counts) {
      if (count === 0) this.#sent.delete(client)
      else this.#sent.set(client, count)
    }
    this.#send({ place: this.#siblings.place, counts })
  }

  /** A sibling that does not learn of it lets in too many for a moment; the next change reaches it. */
  #send(held: Held): void {
    this.#siblings.askAll(this.#topic, held).catch(() => {})
  }

  #receive({ place, isNew = false, counts }: Held): void {
    if (isNew) {
      this.#others.delete(place)
      // it has to learn what was sent to the others before
      if (this.#sent.size > 0) this.#send({ place: this.#siblings.place, counts: [...this.#sent] })
    }
    const held = this.#others.get(place) ?? new Map<string, number>()
    this.#others.set(place, held)
    for (const [client, count] of counts) {
      if (count === 0) held.delete(client)
      else held.set(client, count)
      this.#note(client)
    }
  }
}
