// Loaded into a measured server: on SIGUSR2 it prints the delays of the event loop since the last signal.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const toMs = (nanoseconds) => nanoseconds / 1e6
process.on('SIGUSR2', () => {
  const { max, mean } = delay
  const delays = { p50: toMs(delay.percentile(50)), p99: toMs(delay.percentile(99)), max: toMs(max), mean: toMs(mean) }
  process.stdout.write(`loop-delay ${JSON.stringify(delays)}\n`)
  delay.reset()
})
