// What a PostgreSQL of a bench uses of the processors. Linux only.
import { readFileSync } from 'node:fs'

const fields = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')

/** Of a process that may have ended meanwhile: then its time is that of its parent. */
function readOwn(pid: number): readonly string[] {
  try {
    return fields(pid).slice(11, 13)
  } catch {
    return []
  }
}

/** Ticks of one second, as `getconf CLK_TCK` prints it on every Linux. */
const TICKS = 100

/** The time of the server and all its processes, in seconds; `backend`: one of them. */
export function readCpuSeconds(backend: number): number {
  const server = Number(fields(backend)[1])
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').split(' ').filter(Boolean)
  const own = children.map((pid) => readOwn(Number(pid)))
  const ticks = [...own, fields(server).slice(11, 15)].flat().map(Number)
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS
}
