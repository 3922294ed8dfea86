import { writeSync } from 'node:fs'
import { codeOf } from '../base/errors.ts'

/** While lines cannot be written, for example to a full disk, this much of them is kept, and the rest is lost. */
const MAX_UNWRITTEN_BYTES = 1_048_576

const RETRY_MS = 1000
/** A full pipe holds 64 KiB: after a longer wait, its reader would have nothing to read. */
const RETRY_FULL_PIPE_MS = 10

type Line = string | Buffer

const writeOut = (line: Line): number => (typeof line === 'string' ? writeSync(2, line) : writeSync(2, line))

/** Writes whole lines to standard error, in order, and never throws. `onLost` is called once it can write again. */
export function createStandardError(onLost: (lines: number) => void, write = writeOut) {
  const unwritten: Line[] = []
  let unwrittenBytes = 0
  let lostLines = 0
  let isFailing = false

  function writeAll(): void {
    try {
      for (let line = unwritten[0]; line !== undefined; line = unwritten[0]) {
        const written = write(line)
        unwrittenBytes -= written
        if (written < Buffer.byteLength(line)) unwritten[0] = Buffer.from(line).subarray(written)
        else unwritten.shift()
      }
    } catch (error) {
      retryLater(codeOf(error) === 'EAGAIN' ? RETRY_FULL_PIPE_MS : RETRY_MS)
      return
    }
    if (isFailing) recover()
  }

  function retryLater(ms: number): void {
    if (!isFailing) process.once('exit', writeAll)
    isFailing = true
    setTimeout(writeAll, ms).unref()
  }

  function recover(): void {
    process.off('exit', writeAll)
    isFailing = false
    const lines = lostLines
    lostLines = 0
    if (lines > 0) onLost(lines)
  }

  return {
    write(line: string): void {
      const bytes = Buffer.byteLength(line)
      if (isFailing && unwrittenBytes + bytes > MAX_UNWRITTEN_BYTES) {
        lostLines++
        return
      }
      unwritten.push(line)
      unwrittenBytes += bytes
      if (!isFailing) writeAll()
    },
  }
}
