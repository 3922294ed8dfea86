import { once } from 'node:events'
import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { addAbortSignal, pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { DumpReader, type Found } from '../../transfer/dump.ts'
import type { ImportFormat } from '../../transfer/format-names.ts'
import { ListReader } from '../../transfer/list-reader.ts'
import { type Context, commandError } from '../context.ts'

/** The source of an import. Records are read in small groups. */
export interface ImportSource {
  /** Ends without an error when the signal is aborted. */
  read(signal: AbortSignal): AsyncIterable<readonly Found[]>
  /** How far it has been read, in bytes or documents; `total` if known. */
  position(): { readonly done: number; readonly total: number | undefined }
}

/** About half a batch, to limit what is read ahead. */
const CHUNKS = { highWaterMark: 16 * 1024 }

/** A dump in a file, or on standard input for `-`, which may be compressed. */
export function openFileSource({ cwd }: Context, place: string, format: ImportFormat, idPrefix: string): ImportSource {
  const path = place === '-' ? undefined : resolve(cwd, place)
  const total = path === undefined ? undefined : sizeOf(path, place)
  let done = () => 0
  return {
    position: () => ({ done: done(), total }),
    async *read(signal) {
      const reader = format === 'csv' ? new ListReader() : new DumpReader(format, idPrefix)
      try {
        const input = path === undefined ? process.stdin : createReadStream(path, CHUNKS)
        done = () => ('bytesRead' in input ? input.bytesRead : 0)
        for await (const chunk of await inflate(addAbortSignal(signal, input))) yield reader.push(chunk)
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof Error && 'code' in error)) throw error
        throw commandError(`${place} cannot be read: ${error.message}.`)
      }
      yield reader.end()
    },
  }
}

function sizeOf(path: string, place: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw commandError(`There is no file ${place}.`)
  if (found.isDirectory()) throw commandError(`${place} is a folder.`)
  return found.isFile() ? found.size : undefined
}

const GZIP_MARK = Buffer.from([0x1f, 0x8b])

/** Decompresses what begins like a gzip file. */
async function inflate(input: Readable): Promise<Readable> {
  await once(input, 'readable')
  const first: Buffer | null = input.read(GZIP_MARK.length)
  if (first) input.unshift(first)
  if (!first?.equals(GZIP_MARK)) return input
  const output = createGunzip()
  // the reader of the output gets every error, so the callback has nothing to do
  pipeline(input, output, () => {})
  return output
}
