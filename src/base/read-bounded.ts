// Reads files whose path is configured: never blocks, and never reads more than a limit.
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

export interface BoundedFile {
  readonly bytes: Buffer
  readonly mode: number
  /** A pipe can be read only once. */
  readonly isPipe: boolean
}

export interface ReadBounds {
  readonly maxBytes: number
  /** Whether it may be a pipe, as a shell makes one of `<(command)`. */
  readonly mayBePipe?: boolean
}

/** Throws a system error, or an error that describes the problem. */
export function readBounded(path: string, { maxBytes, mayBePipe = false }: ReadBounds): BoundedFile {
  // opening a pipe without a writer would block
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    const isPipe = found.isFIFO()
    if (!found.isFile() && !(isPipe && mayBePipe)) throw new Error(describeKind(found))
    return { bytes: readWhole(file, maxBytes), mode: found.mode, isPipe }
  } finally {
    closeSync(file)
  }
}

const describeKind = (found: Stats): string => (found.isDirectory() ? 'it is a folder' : 'it is not a regular file')

const CHUNK = 65_536

function readWhole(file: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const chunk = Buffer.alloc(CHUNK)
    const read = readPatiently(file, chunk)
    if (read === 0) return Buffer.concat(chunks)
    size += read
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
    chunks.push(chunk.subarray(0, read))
  }
}

const WAIT_MS = 10
const MAX_WAITS = 1000

/** Waits for a writer that has opened the pipe and not written yet. */
function readPatiently(file: number, into: Buffer): number {
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; waits < MAX_WAITS; waits += 1) {
    try {
      return readSync(file, into)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(never, 0, 0, WAIT_MS)
    }
  }
  throw new Error('nothing came out of this pipe for ten seconds')
}
