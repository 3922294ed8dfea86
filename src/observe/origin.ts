/**
 * The request that the running code works for. An event happens deep below the door (in the directory, in a limit), and
 * every function in between would have to pass the request on only for the record.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { OriginFields } from './security-event-table.ts'

/** Read when an event happens, because the actor is not known when the request begins. */
export type DescribeOrigin = () => OriginFields

const current = new AsyncLocalStorage<DescribeOrigin>()

/** Runs `work`, and all it waits for, on behalf of this request. */
export const runForOrigin = <T>(describe: DescribeOrigin, work: () => T): T => current.run(describe, work)

/** Empty outside a request. */
export const findOrigin = (): OriginFields => current.getStore()?.() ?? {}
