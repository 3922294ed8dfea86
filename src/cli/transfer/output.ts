import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { openNew, syncFolder } from '../../base/files.ts'
import { type Context, ExitError } from '../context.ts'
import { EXIT } from '../exit-codes.ts'

/** Where an export goes. */
export interface Output {
  write(text: string): Promise<void>
  /** Completes the output and makes it durable. */
  finish(): Promise<void>
  /** Removes what was written, if possible. */
  discard(): void
}

/**
 * A file that only its owner can read and that appears complete or not at all; or standard output. A file that is not
 * regular, such as a pipe, is written directly.
 */
export function openOutput({ cwd }: Context, file: string | undefined): Output {
  if (file === undefined) return STANDARD_OUTPUT
  try {
    const path = realPathOf(resolve(cwd, file))
    const isReplaced = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true
    return isReplaced ? createReplacement(path) : createDescriptor(openSync(path, 'w'))
  } catch (error) {
    throw new ExitError(EXIT.failed, `${file} cannot be written: ${messageOf(error)}`)
  }
}

function createReplacement(path: string): Output {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  const descriptor = openNew(temporary)
  const { write, finish } = createDescriptor(descriptor)
  return {
    write,
    async finish() {
      fsyncSync(descriptor)
      await finish()
      renameSync(temporary, path)
      syncFolder(dirname(path))
    },
    discard() {
      rmSync(temporary, { force: true })
    },
  }
}

const createDescriptor = (descriptor: number): Output => ({
  async write(text) {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  },
  async finish() {
    closeSync(descriptor)
  },
  discard() {},
})

const STANDARD_OUTPUT: Output = {
  async write(text) {
    // if the reader has closed the pipe, there is nothing to wait for
    if (process.stdout.destroyed || process.stdout.write(text)) return
    await Promise.race([once(process.stdout, 'drain'), once(process.stdout, 'close')])
  },
  async finish() {},
  discard() {},
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
