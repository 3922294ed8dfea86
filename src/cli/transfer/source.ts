/** The source of an import: a file, standard input or a CouchDB server. Records are read in small groups. */
import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { createDumpReader, type Found } from '../../transfer/dump.ts'
import type { FormatName } from '../../transfer/format-names.ts'
import { type Context, ExitError } from '../context.ts'
import { EXIT } from '../exit-codes.ts'

export interface Source {
  /** Ends without an error when the signal is aborted. */
  read(signal: AbortSignal): AsyncIterable<readonly Found[]>
  /** Whether records have line numbers. */
  readonly hasLines: boolean
  /** `undefined`: not known, or not yet. */
  format(): FormatName | undefined
  /** How far it has been read, in bytes or documents; `total` if known. */
  position(): { readonly done: number; readonly total: number | undefined }
}

export interface FileOptions {
  readonly format: FormatName | undefined
  readonly idPrefix: string
}

const STANDARD_INPUT = '-'

/** A dump in a file, or on standard input for `-`. Gzip is recognised by the first bytes. */
export function openFileSource({ cwd }: Context, place: string, options: FileOptions): Source {
  const reader = createDumpReader(options)
  const total = place === STANDARD_INPUT ? undefined : sizeOf(resolve(cwd, place), place)
  let done = 0
  const count = (bytes: number) => {
    done += bytes
  }
  return {
    hasLines: true,
    format: () => reader.format(),
    position: () => ({ done, total }),
    async *read(signal) {
      const input = place === STANDARD_INPUT ? process.stdin : createReadStream(resolve(cwd, place), CHUNKS)
      const leave = () => input.destroy()
      signal.addEventListener('abort', leave)
      try {
        for await (const chunk of inflate(counted(input, count))) yield reader.push(chunk)
      } catch (error) {
        if (signal.aborted) return
        throw unreadable(place, error)
      } finally {
        signal.removeEventListener('abort', leave)
      }
      yield reader.end()
    },
  }
}

/** About half a batch, to limit what is read ahead. */
const CHUNKS = { highWaterMark: 16 * 1024 }

function sizeOf(path: string, place: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new ExitError(EXIT.failed, `There is no file ${place}.`)
  if (found.isDirectory()) throw new ExitError(EXIT.failed, `${place} is a folder.`)
  return found.isFile() ? found.size : undefined
}

const unreadable = (place: string, error: unknown): Error =>
  error instanceof Error && 'code' in error
    ? new ExitError(EXIT.failed, `${place} cannot be read: ${error.message}.`)
    : (error as Error)

async function* counted(input: AsyncIterable<Uint8Array>, count: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    count(chunk.length)
    yield chunk
  }
}

const GZIP_MARK = Buffer.from([0x1f, 0x8b])

async function* inflate(input: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const first = await input.next()
  if (first.done) return
  const whole = prepend(first.value, input)
  const isCompressed = GZIP_MARK.equals(first.value.subarray(0, GZIP_MARK.length))
  yield* isCompressed ? gunzip(whole) : whole
}

function gunzip(input: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const output = createGunzip()
  // the reader of the output gets every error, so the callback has nothing to do
  pipeline(Readable.from(input), output, () => {})
  return output
}

async function* prepend(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
