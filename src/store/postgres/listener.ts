import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Log } from '../../base/log.ts'
import { toDelayMs } from '../retry.ts'

export const CHANNEL = 'cardea_changes'

const BACK_OFF = { firstDelayMs: 250, maxDelayMs: 10_000 }

export interface Listener {
  close(): Promise<void>
}

/** Listens for the notifications of other nodes' writes. Reconnects when the connection is lost; polling continues. */
export function startListener(connect: () => Client, wake: () => void, log: Log): Listener {
  const stopping = new AbortController()
  const run = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const hasListened = await listenOnce(connect(), wake, stopping.signal)
      failures = hasListened ? 1 : failures + 1
      if (stopping.signal.aborted) return
      log.debug('listening for changes was interrupted', { failures })
      await sleep(toDelayMs(BACK_OFF, failures), undefined, { signal: stopping.signal }).catch(() => {})
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

/** Listens until the connection breaks or `signal` aborts. Returns whether it ever listened. Never throws. */
async function listenOnce(client: Client, wake: () => void, signal: AbortSignal): Promise<boolean> {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = () => resolve()
  client.on('error', end)
  client.on('end', end)
  client.on('notification', wake)
  signal.addEventListener('abort', end)
  const listening = client.connect().then(() => client.query(`LISTEN ${CHANNEL}`))
  try {
    // stopping must not wait for a server that does not respond
    await Promise.race([listening, ended.then(() => Promise.reject(new Error('not listening')))])
    // writes before LISTEN sent no notification to this connection
    wake()
    await ended
    await client.end().catch(() => {})
    return true
  } catch {
    listening.catch(() => {})
    // client.end() would wait for a response
    client.connection.stream.destroy()
    return false
  } finally {
    client.removeListener('notification', wake)
    signal.removeEventListener('abort', end)
  }
}
