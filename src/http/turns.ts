/** Lets connections take turns, so that the work for some of them does not delay the others. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** `false`: nothing was to be done, so the next one takes the turn. */
type Turn = () => unknown

/** Connections that continue with a request in one iteration of the event loop. */
const REQUESTS_AT_ONCE = 8
/** Starts and ends of connections take longer: there is one of each in this many iterations. */
const ITERATIONS_PER_START = 8
/**
 * While connections are accepted, turns rest this many times as long as they took. Node accepts one connection of a
 * listener in each iteration: behind those of an attacker, a new client waited up to two seconds, and with short
 * iterations waits 0.2 at most (test/long/attacks/http2.ts; docs/reference/http2.md has the figures).
 */
const REST_FACTOR = 3
/** An iteration may have taken long for another reason. */
const MAX_REST_MS = 50

const requests = new Set<Turn>()
/** By client: those of one that opens many connections do not delay those of another. */
const handshakes = new Map<string, Set<Turn>>()
const starts = new Map<string, Set<Turn>>()
const ends = new Set<Turn>()

let isScheduled = false
let iterations = 0
/** Whether a connection was accepted in this iteration. */
let hasAccepted = false
/** When turns were taken in the last iteration; `undefined`: there were none. */
let takenAtMs: number | undefined
let restsUntilMs = 0

/** To be called when a listener has accepted a connection. */
export function noteAccepted(): void {
  hasAccepted = true
}

/** Calls `next` when it is the turn of its connection: new bytes of all connections are read before. */
export function waitForTurn(next: Turn): void {
  requests.add(next)
  schedule()
}

export const isWaitingForTurn = (next: Turn): boolean => requests.has(next)

/**
 * Calls `begin` when it is the turn of the client to begin a handshake of TLS. One takes a millisecond, so behind those
 * of an attacker a client waited 230 ms (test/long/attacks/http2.ts).
 */
export const waitForHandshake = (client: string, begin: Turn): void => waitAs(client, handshakes, begin)

/**
 * Calls `start` when it is the turn of a new connection of HTTP/2, or of its next bytes. The first bytes of one may be
 * hundreds of requests.
 */
export const waitToStart = (client: string, start: Turn): void => waitAs(client, starts, start)

/** Calls `end` when it is the turn of a connection that ends with up to a hundred requests. */
export function waitToEnd(end: Turn): void {
  ends.add(end)
  schedule()
}

function waitAs(client: string, clients: Map<string, Set<Turn>>, next: Turn): void {
  const turns = clients.get(client)
  if (turns) turns.add(next)
  else clients.set(client, new Set([next]))
  schedule()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  runOutside(setImmediate, runIteration)
}

/** Turns belong to no request: what they begin must not run on behalf of the one that scheduled them. */
const runOutside = AsyncLocalStorage.snapshot()

function runIteration(): void {
  isScheduled = false
  const isAccepting = hasAccepted
  hasAccepted = false
  const nowMs = performance.now()
  // measured here, because most of the work is done in microtasks after the turns
  if (takenAtMs !== undefined) restsUntilMs = nowMs + Math.min((nowMs - takenAtMs) * REST_FACTOR, MAX_REST_MS)
  takenAtMs = undefined
  if (requests.size + handshakes.size + starts.size + ends.size === 0) return
  if (!isAccepting || nowMs >= restsUntilMs) {
    takenAtMs = nowMs
    takeTurns()
  }
  schedule()
}

function takeTurns(): void {
  take(requests, REQUESTS_AT_ONCE)
  takeNext(handshakes)
  iterations += 1
  if (iterations % ITERATIONS_PER_START !== 0) return
  takeNext(starts)
  take(ends, 1)
}

function take(turns: Set<Turn>, atOnce: number): void {
  let taken = 0
  for (const next of turns) {
    turns.delete(next)
    if (next() !== false) taken += 1
    if (taken === atOnce) break
  }
}

/** Takes one turn of the client that waits the longest since its last one. */
function takeNext(clients: Map<string, Set<Turn>>): void {
  for (const [client, turns] of clients) {
    clients.delete(client)
    const [next] = turns
    if (next === undefined) continue
    turns.delete(next)
    if (turns.size > 0) clients.set(client, turns)
    if (next() !== false) break
  }
}
