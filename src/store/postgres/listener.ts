import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Log } from '../../base/log.ts'
import { delayMsOf } from '../retry.ts'
import { CHANNEL } from './statements.ts'

const BACK_OFF = { firstDelayMs: 250, mostDelayMs: 10_000 }

export interface Listener {
  close(): Promise<void>
}

export interface ListenerOptions {
  readonly connect: () => Client
  readonly wake: () => void
  readonly log: Log
}

/** Hears what other nodes write. A lost connection is made anew; the poll goes on meanwhile. */
export function startListener({ connect, wake, log }: ListenerOptions): Listener {
  const stopping = new AbortController()
  const run = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const hasListened = await listenOnce(connect(), wake, stopping.signal)
      failures = hasListened ? 1 : failures + 1
      if (stopping.signal.aborted) return
      log.debug('listening for changes was interrupted', { failures })
      await pause(delayMsOf(BACK_OFF, failures), undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const running = run()
  return {
    close: () => {
      stopping.abort()
      return running
    },
  }
}

/** Listens until the connection breaks or is no longer wanted. Gives whether it ever listened. Never throws. */
async function listenOnce(client: Client, wake: () => void, signal: AbortSignal): Promise<boolean> {
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const isOver = () => end()
  client.on('error', isOver)
  client.on('end', isOver)
  client.on('notification', wake)
  signal.addEventListener('abort', isOver)
  const listening = client.connect().then(() => client.query(`LISTEN ${CHANNEL}`))
  try {
    // whoever stops does not wait for a server that does not answer
    await Promise.race([listening, over.then(() => Promise.reject(new Error('not listening')))])
    // what was written before the connection stood made no call
    wake()
    await over
    await client.end().catch(() => {})
    return true
  } catch {
    listening.catch(() => {})
    // a polite end would wait for an answer
    client.connection.stream.destroy()
    return false
  } finally {
    client.removeListener('notification', wake)
    signal.removeEventListener('abort', isOver)
  }
}
