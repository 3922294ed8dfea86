/**
 * Loaded into the server before it starts. At SIGUSR2 it prints how long the turns of the event loop were since the last
 * time, in milliseconds of CPU time: unlike the latency of requests, they do not depend on what else the machine does.
 * For 99 of 100 moments the turn was not longer: so long a request may have to wait for its own turn.
 */
const EVERY_MS = 1

let turns: number[] = []
let startMs = performance.now()
let before = process.threadCpuUsage()
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before)
  before = process.threadCpuUsage()
  turns.push((user + system) / 1000)
}, EVERY_MS).unref()

function findTurn(): number {
  let leftMs = (performance.now() - startMs) / 100
  for (const ms of turns.sort((a, b) => b - a)) {
    leftMs -= ms
    if (leftMs < 0) return ms
  }
  return 0
}

process.on('SIGUSR2', () => {
  console.log(JSON.stringify({ turnMs: Math.round(findTurn() * 10) / 10 }))
  turns = []
  startMs = performance.now()
})
