/**
 * The request that the running code works for. An event happens deep below the door, and every function in between would
 * have to pass the request on only for the record. The caller of a write (directory/caller.ts) cannot tell it: most events,
 * such as sign-ins, refused credentials and limits, happen where nothing is written for a caller.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { OriginFields } from './security-event-table.ts'

/** Read when an event happens, because the actor is not known when the request begins. */
export type DescribeOrigin = () => OriginFields

const kept = new AsyncLocalStorage<DescribeOrigin>()
/** Set only while the code of one request runs without waiting, so that of no other request sees it. */
let running: DescribeOrigin | undefined

/** Runs `work`, and all it waits for, on behalf of this request. */
export const runForOrigin = <T>(describe: DescribeOrigin, work: () => T): T =>
  beginForOrigin(describe, () => kept.run(describe, work))

/**
 * Runs `work` on behalf of this request until it waits for the first time. What may record an event after that runs in `keepOrigin`. A request that
 * waits for nothing then takes 6 to 8 % less CPU time (`npm run bench -- session`).
 */
export function beginForOrigin<T>(describe: DescribeOrigin, work: () => T): T {
  const before = running
  running = describe
  try {
    return work()
  } finally {
    running = before
  }
}

/** Runs `work`, and all it waits for, on behalf of the request that the calling code works for. */
export const keepOrigin = <T>(work: () => T): T => (running ? kept.run(running, work) : work())

/** Empty outside a request. */
export const findOrigin = (): OriginFields => (running ?? kept.getStore())?.() ?? {}
