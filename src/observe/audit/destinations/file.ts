import { type FileHandle, open, rename } from 'node:fs/promises'
import { createEmptyFile } from '../../../base/files.ts'
import { toShownRecord } from '../audit-record.ts'
import type { Destination, DestinationSettings } from './destination.ts'

const OWNER_AND_GROUP = 0o640

/** One JSON object per line. Above its size the file becomes `path.1`, that one `path.2`, and so on. */
export function createFileDestination(path: string, { maxFileBytes, maxFiles }: DestinationSettings): Destination {
  let file: FileHandle | undefined
  let bytes = 0
  let isStale = false
  const close = async () => {
    const open = file
    file = undefined
    await open?.close()
  }
  const openFile = async (): Promise<FileHandle> => {
    createEmptyFile(path, OWNER_AND_GROUP)
    const opened = await open(path, 'a', OWNER_AND_GROUP)
    bytes = (await opened.stat()).size
    file = opened
    return opened
  }
  return {
    async write(records) {
      if (isStale) await close()
      isStale = false
      const text = records.map((record) => `${JSON.stringify(toShownRecord(record))}\n`).join('')
      const size = Buffer.byteLength(text)
      let target = file ?? (await openFile())
      if (bytes > 0 && bytes + size > maxFileBytes) {
        await close()
        await rotate(path, maxFiles)
        target = await openFile()
      }
      await target.appendFile(text)
      bytes += size
    },
    reopen() {
      isStale = true
    },
    close,
  }
}

async function rotate(path: string, maxFiles: number): Promise<void> {
  for (let number = maxFiles; number > 0; number -= 1) {
    const from = number === 1 ? path : `${path}.${number - 1}`
    await rename(from, `${path}.${number}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}
