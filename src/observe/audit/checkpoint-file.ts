import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { messageOf } from '../../base/errors.ts'
import { createEmptyFile } from '../../base/files.ts'
import { readCheckpoint, type SignedCheckpoint } from './checkpoint.ts'
import type { AuditFigures, FailureReporter } from './failure-reporter.ts'

/** The newest checkpoint outside the store, so that an attacker who can write to the store cannot replace both. */
export interface CheckpointFile {
  load(): LoadedCheckpoint
  /** Replaces the content soon, and again after a failure. Never throws. */
  save(checkpoint: string): void
  figures(): AuditFigures
  /** Resolves when the last content is written, or cannot be written. */
  close(): Promise<void>
}

export interface LoadedCheckpoint {
  readonly checkpoint: SignedCheckpoint | undefined
  /** Why there is none. */
  readonly problem: string | undefined
}

export const toCheckpointPath = (keyFile: string): string => `${keyFile}.checkpoint`

export function loadCheckpoint(path: string): LoadedCheckpoint {
  try {
    const checkpoint = readCheckpoint(readFileSync(path, 'utf8'))
    return { checkpoint, problem: checkpoint ? undefined : `${path} is damaged` }
  } catch {
    return { checkpoint: undefined, problem: `${path} is missing or cannot be read` }
  }
}

const RETRY_MS = 5000

export const createCheckpointFile = (path: string, reporter: Omit<FailureReporter, 'onLost'>): CheckpointFile =>
  new ReplacedFile(path, reporter)

/** One write at a time; of several checkpoints that wait, only the newest is written. */
class ReplacedFile implements CheckpointFile {
  readonly #path: string
  readonly #reporter: Omit<FailureReporter, 'onLost'>
  #next: string | undefined
  #writing: Promise<void> | undefined
  #failure: { readonly sinceMs: number; readonly reason: string } | undefined
  #retry: NodeJS.Timeout | undefined

  constructor(path: string, reporter: Omit<FailureReporter, 'onLost'>) {
    this.#path = path
    this.#reporter = reporter
  }

  load(): LoadedCheckpoint {
    return loadCheckpoint(this.#path)
  }

  save(checkpoint: string): void {
    this.#next = checkpoint
    this.#start()
  }

  figures(): AuditFigures {
    return { waiting: Number(this.#next !== undefined), lost: 0, problem: this.#failure?.reason }
  }

  async close(): Promise<void> {
    await this.#writing
    clearTimeout(this.#retry)
    if (this.#next !== undefined) await this.#writeNext()
  }

  #start(): void {
    this.#writing ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#retry)
    do await this.#writeNext()
    while (this.#next !== undefined && !this.#failure)
    this.#writing = undefined
    if (this.#failure) this.#retry = setTimeout(() => this.#start(), RETRY_MS).unref()
  }

  async #writeNext(): Promise<void> {
    const content = this.#next ?? ''
    this.#next = undefined
    try {
      await replace(this.#path, content)
      this.#noteSuccess()
    } catch (error) {
      this.#next ??= content
      this.#noteFailure(messageOf(error))
    }
  }

  #noteSuccess(): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure) this.#reporter.onRecovered(Math.round((performance.now() - failure.sinceMs) / 1000))
  }

  #noteFailure(reason: string): void {
    if (this.#failure) return
    this.#failure = { sinceMs: performance.now(), reason }
    this.#reporter.onFailed(reason)
  }
}

async function replace(path: string, content: string): Promise<void> {
  const temporary = `${path}.tmp`
  createEmptyFile(temporary)
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(`${content}\n`)
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}
