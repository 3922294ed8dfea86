/**
 * Loaded into the server before it starts. At SIGUSR2 it prints how long the turns of the event loop were since the last
 * time, in milliseconds of CPU time: unlike the latency of requests, they do not depend on what else the machine does.
 */
const EVERY_MS = 1

let turns: number[] = []
let before = process.threadCpuUsage()
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before)
  before = process.threadCpuUsage()
  turns.push((user + system) / 1000)
}, EVERY_MS).unref()

process.on('SIGUSR2', () => {
  turns.sort((a, b) => a - b)
  const turnMs = turns[Math.ceil(turns.length * 0.99) - 1] ?? 0
  console.log(JSON.stringify({ turnMs: Math.round(turnMs * 10) / 10 }))
  turns = []
})
