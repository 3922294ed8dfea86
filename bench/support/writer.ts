// Writes to a store for some time, in several lanes: `writer.ts FILE MS LANES`, when its parent says so.
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'

const [path, ms, lanes] = process.argv.slice(2)
const store = await openStore(`sqlite:${path}`, { log: SILENT_LOG })
const delay = monitorEventLoopDelay({ resolution: 1 })
process.send?.('ready')
await once(process, 'message')
const until = performance.now() + Number(ms)
let written = 0
const write = async () => {
  while (performance.now() < until) {
    await store.checkWrites()
    written += 1
    await nextTurn()
  }
}
delay.enable()
await Promise.all(Array.from({ length: Number(lanes) }, write))
const delayMs = delay.percentile(99) / 1e6
await store.close()
process.send?.({ written, delayMs })
process.disconnect?.()
