/**
 * What test files take, for `node scripts/test.ts --times`: seconds of a processor, of the file and of the processes
 * that it starts, which unlike elapsed time hardly depend on what else the machine does. Linux only: it reads /proc.
 */
import { appendFileSync, readFileSync } from 'node:fs'

interface Times {
  readonly file: string
  readonly cpu: number
  readonly elapsed: number
}

const SHOWN = 30
const TICKS_PER_SECOND = 100

const readWords = (path: string): string[] => readFileSync(path, 'utf8').trim().split(' ').filter(Boolean)

/** Of a process, those it started and waited for, and those of its family that still run. */
export function readCpuSeconds(pid = process.pid): number {
  try {
    // after the name: the state is field 3, and the times are fields 14 to 17
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
    return readWords(`/proc/${pid}/task/${pid}/children`).reduce(
      (sum, child) => sum + readCpuSeconds(Number(child)),
      own,
    )
  } catch {
    return 0 // it ended meanwhile
  }
}

/** Appends to `record` what has passed since the last call, or since the process started. */
export function createTimesRecorder(record: string) {
  let before = { cpu: 0, elapsed: 0 }
  return (file: string): void => {
    const now = { cpu: readCpuSeconds(), elapsed: performance.now() / 1000 }
    // a browser that ended takes the time of its processes with it
    const cpu = Math.max(0, now.cpu - before.cpu)
    const times: Times = { file, cpu, elapsed: now.elapsed - before.elapsed }
    appendFileSync(record, `${JSON.stringify(times)}\n`)
    before = now
  }
}

const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/')

const renderRow = ({ file, cpu, elapsed }: Times): string =>
  `${cpu.toFixed(1).padStart(7)} ${elapsed.toFixed(1).padStart(7)}  ${file}`

/** `cpu` is of the whole run: the rest is what files share (PostgreSQL, the browser) and the runner. */
export function renderTimes(record: string, cpu: number): string {
  const files: Times[] = readFileSync(record, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const folders = Map.groupBy(files, ({ file }) => folderOf(file))
  const sums = [...folders].map(([folder, members]) => ({
    file: `${folder} (${members.length} files)`,
    cpu: members.reduce((sum, each) => sum + each.cpu, 0),
    elapsed: members.reduce((sum, each) => sum + each.elapsed, 0),
  }))
  // processes that end with their group are not in `cpu`
  const shared = Math.max(0, cpu - sums.reduce((sum, each) => sum + each.cpu, 0))
  const byCost = (a: Times, b: Times) => b.cpu - a.cpu
  return [
    ' of CPU elapsed  seconds',
    ...sums.toSorted(byCost).map(renderRow),
    renderRow({ file: 'what files share, and the runner', cpu: shared, elapsed: 0 }),
    '',
    ...files.toSorted(byCost).slice(0, SHOWN).map(renderRow),
    '',
  ].join('\n')
}
