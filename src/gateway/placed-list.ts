export interface Placed {
  /** Where it stands in its list; -1: nowhere. */
  place: number
}

/**
 * What comes and goes with every request. Not a `Set`: whenever a set makes room it leaves a table behind that still
 * holds all that stood in it and points to the next; one such table that has grown old keeps every later request alive
 * until the whole memory is cleared, and that costs more than all the rest of a request.
 */
export class PlacedList<T extends Placed> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    item.place = this.#items.length
    this.#items.push(item)
  }

  /** `false`: it does not stand here. */
  remove(item: T): boolean {
    const { place } = item
    if (this.#items[place] !== item) return false
    const last = this.#items.pop() as T // there is one: the item itself, if no other
    if (last !== item) {
      this.#items[place] = last
      last.place = place
    }
    item.place = -1
    return true
  }

  /** As they stand now, whatever comes or goes while somebody looks. */
  list(): readonly T[] {
    return [...this.#items]
  }
}
