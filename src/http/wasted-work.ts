/** Delays new connections of HTTP/2 of clients for which the server works in vain. */

/** About what each takes of the processor, in milliseconds. */
export const WASTE_MS = {
  session: 1,
  /** A connection that ended within `SHORT_MS`: with a hundred requests, its start and its end take this long. */
  shortSession: 20,
  /** A request whose client does not wait for the response. */
  abortedRequest: 1,
  /** A connection that is closed because of frames that are not allowed, or that lead to nothing. */
  flood: 200,
}

export const SHORT_MS = 1000

/** So much waste at once has no consequences. */
const FREE_MS = 500
const MAX_DELAY_MS = 5000
const MAX_CLIENTS = 10_000

/** The waste of each client. It is paid off as time passes. */
export class WastedWork {
  /** By client, in the order of their last waste: when all of it is paid off, in milliseconds of `performance.now()`. */
  readonly #paidAtMs = new Map<string, number>()

  add(client: string, ms: number): void {
    const nowMs = performance.now()
    const paidAtMs = Math.max(nowMs, this.#paidAtMs.get(client) ?? 0) + ms
    this.#paidAtMs.delete(client)
    this.#paidAtMs.set(client, Math.min(paidAtMs, nowMs + FREE_MS + MAX_DELAY_MS))
    for (const [oldest, atMs] of this.#paidAtMs) {
      if (atMs > nowMs && this.#paidAtMs.size <= MAX_CLIENTS) break
      this.#paidAtMs.delete(oldest)
    }
  }

  /** How long a new connection of the client has to wait. */
  delayMs(client: string): number {
    return Math.max(0, (this.#paidAtMs.get(client) ?? 0) - performance.now() - FREE_MS)
  }
}
