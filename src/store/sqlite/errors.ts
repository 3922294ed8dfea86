import { Refusal } from '../../base/errors.ts'

/** SQLite result codes about the file and its environment, not about the statement. */
const UNAVAILABLE: ReadonlyMap<number, string> = new Map([
  [3, 'no permission'],
  [5, 'another process holds the lock'],
  [6, 'locked'],
  [7, 'out of memory'],
  [8, 'read-only'],
  [10, 'input or output error'],
  [11, 'the file is damaged'],
  [13, 'the disk is full'],
  [14, 'the file cannot be opened'],
  [15, 'locking protocol'],
  [26, 'the file is not a database'],
])
const BUSY = new Set([5, 6])

/** The primary result code: the lowest byte of an extended one. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode & 0xff
}

/** Another process is writing, and nothing was changed. */
export const isBusy = (error: unknown): boolean => BUSY.has(codeOf(error) ?? 0)

/** The error for the caller in place of the one SQLite threw. */
export function toStoreError(error: unknown): unknown {
  const code = codeOf(error)
  const detail = code === undefined ? undefined : UNAVAILABLE.get(code)
  return detail === undefined ? error : new Refusal('store_unavailable', { detail, cause: error, retryAfterSeconds: 1 })
}
