// Light nodes in one process: a store and a follower each, which note when they have a change.
//   followers.ts URL COUNT notify|poll
// Users of the bench are named after the time of their change. On SIGTERM it prints the longest delay of each change, and
// the bytes of all its connections.
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'
import { FeedFollower } from '../../src/store/feed.ts'

const [url = '', count, mode] = process.argv.slice(2)
const sockets = new Set<Socket>()
let bytes = 0
subscribe('net.client.socket', (message) => {
  const { socket } = message as { readonly socket: Socket }
  sockets.add(socket)
  socket.once('close', () => addBytes(socket))
})

function addBytes(socket: Socket): void {
  if (sockets.delete(socket)) bytes += socket.bytesRead + socket.bytesWritten
}

/** When the last node of this process had each change, after it was sent. */
const delays = new Map<string, number>()

function note(keys: readonly string[]): void {
  const nowMs = performance.timeOrigin + performance.now()
  for (const key of keys) delays.set(key, Math.max(delays.get(key) ?? 0, nowMs - Number(key.split(' ')[1])))
}

async function startFollower() {
  const postgres = { maxConnections: 2, pooling: 'session', listenUrl: '' } as const
  const store = await openStore(url, { log: SILENT_LOG, postgres })
  const from = await store.head()
  const feed = mode === 'notify' ? store : { ...store, onWake: () => () => {} }
  const follower = new FeedFollower(feed, {
    from,
    clock: SYSTEM_CLOCK,
    onChange: async (changes) => note(changes.map(({ key }) => key)),
    onReset: async () => {},
    alsoRead: () => from,
    onStale: () => {},
    onRecovered: () => {},
  })
  return async () => {
    await follower.stop()
    await store.close()
  }
}

const stops: (() => Promise<void>)[] = []
for (let number = 0; number < Number(count); number += 1) stops.push(await startFollower())
process.stdout.write('following\n')
// the process stays until it is told to end, or the bench has ended without that
const bench = process.ppid
const alive = setInterval(() => process.ppid !== bench && process.exit(1), 1000)
await once(process, 'SIGTERM')
for (const socket of sockets) addBytes(socket)
clearInterval(alive)
await Promise.all(stops.map((stop) => stop()))
process.stdout.write(`${JSON.stringify({ delays: [...delays], bytes })}\n`)
