import { readFileSync } from 'node:fs'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { readCheckpoint, type SignedCheckpoint } from './checkpoint.ts'

/** The newest checkpoint outside the store, so that an attacker who can write to the store cannot replace both. */
export interface CheckpointFile {
  /** Replaces the content soon. Never throws. */
  save(checkpoint: string): void
  /** Resolves when the last content is written. */
  settled(): Promise<void>
}

export const toCheckpointPath = (keyFile: string): string => `${keyFile}.checkpoint`

/** `undefined`: there is none, or it cannot be read. */
export function loadCheckpoint(path: string): SignedCheckpoint | undefined {
  try {
    return readCheckpoint(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** One write at a time; of several checkpoints that wait, only the newest is written. */
export function createCheckpointFile(path: string, onProblem: (error: unknown) => void): CheckpointFile {
  let next: string | undefined
  let writing: Promise<void> | undefined
  const writeAll = async () => {
    while (next !== undefined) {
      const content = next
      next = undefined
      await replace(path, content).catch(onProblem)
    }
    writing = undefined
  }
  return {
    save(checkpoint) {
      next = checkpoint
      writing ??= writeAll()
    },
    settled: async () => writing,
  }
}

async function replace(path: string, content: string): Promise<void> {
  const temporary = `${path}.tmp`
  await writeFile(temporary, `${content}\n`, { mode: 0o600 })
  await chmod(temporary, 0o600)
  await rename(temporary, path)
}
