// Pins processes to cores. Otherwise it depends on chance which processes share a core.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * The cores this process may use, in the list format of Linux: `0-3,8`. Empty on other systems. Kept in `BENCH_CORES`
 * from the first call on: once this process is pinned, Linux reports one core, also to the copy in another checkout.
 */
function readCores() {
  process.env.BENCH_CORES ??= readAllowedCores()
  return process.env.BENCH_CORES
}

function readAllowedCores() {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

function listCores(text) {
  return text.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

const pin = (pid, cores) => spawnSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' }).status === 0

/**
 * Runs `work` with the measured processes on one core, and the others and this one on another. Where there is only one
 * core, or cores cannot be chosen, nothing is pinned.
 */
export async function withCores(measured, others, work) {
  const before = readCores()
  const [first, second] = before === '' ? [] : listCores(before)
  if (second === undefined) return work()
  for (const { pid } of measured) pin(pid, String(first))
  for (const { pid } of [...others, process]) pin(pid, String(second))
  try {
    return await work()
  } finally {
    pin(process.pid, before)
  }
}
