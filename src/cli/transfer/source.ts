/**
 * Where an import comes from. Bytes of a file, of standard input or of a document database enter; records leave, some at
 * a time. Nothing is held longer than it takes to read it.
 */
import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { createDumpReader, type Found } from '../../transfer/dump.ts'
import type { FormatName } from '../../transfer/format-names.ts'
import { type Context, ExitError } from '../context.ts'
import { EXIT } from '../exit-codes.ts'

export interface Source {
  /** Ends early, and well, when the signal says so. */
  read(signal: AbortSignal): AsyncIterable<readonly Found[]>
  /** Whether a line says where a record stands. */
  readonly hasLines: boolean
  /** `undefined`: not known, or not yet. */
  format(): FormatName | undefined
  /** How far it has been read, in whatever it is counted; `total` where that is known. */
  position(): { readonly done: number; readonly total: number | undefined }
}

export interface FileOptions {
  readonly format: FormatName | undefined
  readonly idPrefix: string
}

const STANDARD_INPUT = '-'

/** A dump in a file, or on standard input for `-`. One that is compressed by gzip is known by its first bytes. */
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

/** About half a batch: what is read ahead is what has to be held. */
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
  // who reads the output hears of every failure; the pipeline only passes them on
  pipeline(Readable.from(input), output, () => {})
  return output
}

async function* prepend(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
