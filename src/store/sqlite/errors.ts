import { codeOf, Refusal } from '../../base/errors.ts'

const RESTORE = 'stop the server and restore a backup with "cardea restore FILE --replace"'
const AS_OWNER = 'run this as the user of the server, or change the owner of the folder'

/** SQLite result codes about the file and its environment, not about the statement: what is wrong, and what to do. */
const UNAVAILABLE: ReadonlyMap<number, string> = new Map([
  // Cardea's statements are constant: one that SQLite cannot run does not fit the schema
  [1, `a table is missing, or was changed by another program: ${RESTORE}`],
  [3, `no permission: ${AS_OWNER}`],
  [5, 'another process holds the lock: end the program that has the file open'],
  [6, 'another process holds the lock: end the program that has the file open'],
  [7, 'out of memory: give the process more'],
  [8, 'the file is read-only: make it and its folder writable'],
  [10, 'input or output error: check the disk, its quota, and whether it became read-only'],
  [11, `the file is damaged: ${RESTORE}`],
  [13, 'the disk is full: free some space'],
  [14, 'the file cannot be opened: check the permissions of its folder, the disk and the limit of open files'],
  [15, 'the locks of the file do not work: use a local disk'],
  [26, `the file is not a database, or its header is damaged: ${RESTORE}`],
])
const BUSY = new Set([5, 6])
const DAMAGED = new Set([11, 26])

/** The primary result code: the lowest byte of an extended one. */
function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode & 0xff
}

const CONSTRAINT = 19
const DUPLICATES: ReadonlySet<unknown> = new Set([1555, 2067])

/** Whether the schema does not allow a row, and then, whether because of another row with the same key. */
export function findSqliteConflict(error: unknown): 'duplicate' | 'value' | undefined {
  if (resultCodeOf(error) !== CONSTRAINT) return undefined
  return error instanceof Error && 'errcode' in error && DUPLICATES.has(error.errcode) ? 'duplicate' : 'value'
}

/** Another process is writing, and nothing was changed. */
export const isBusy = (error: unknown): boolean => BUSY.has(resultCodeOf(error) ?? 0)

/** What is in the file cannot be relied on. */
export const isDamaged = (error: unknown): boolean => DAMAGED.has(resultCodeOf(error) ?? 0)

/** A failed check, in the form of the error that SQLite throws when it finds damage itself. */
export const createDamage = (finding: string): Error => Object.assign(new Error(finding), { errcode: 11 })

/** The file that is open was deleted, moved or replaced: what is written to it is lost when the server stops. */
export const createMisplaced = (path: string): Refusal =>
  new Refusal('store_unavailable', {
    detail: `${path} was deleted, moved or replaced: put the file back, or restart the server to use what is there now`,
    retryAfterSeconds: 1,
  })

const FILE_FAILURES: ReadonlyMap<string, string> = new Map([
  ['EROFS', 'the file system is read-only: remount it for writing, or move the store'],
  ['ENOSPC', 'the disk is full: free some space'],
  ['EDQUOT', 'the quota is used up: free some space'],
  ['EACCES', `no permission: ${AS_OWNER}`],
  ['EPERM', `no permission: ${AS_OWNER}`],
  ['EMFILE', 'too many open files: raise the limit (ulimit -n)'],
  ['EISDIR', 'it is a folder: name a file in it'],
  ['ENOTDIR', 'a part of its path is not a folder'],
])

/** Why the system does not open the file. */
export function describeOpenFailure(path: string, error: unknown): string {
  const code = codeOf(error)
  return `${path} cannot be opened: ${FILE_FAILURES.get(code) ?? (code || 'unknown reason')}`
}

/** The error for the caller in place of the one SQLite threw. */
export function readSqliteError(error: unknown): unknown {
  const code = resultCodeOf(error)
  const detail = code === undefined ? undefined : UNAVAILABLE.get(code)
  return detail === undefined ? error : new Refusal('store_unavailable', { detail, cause: error, retryAfterSeconds: 1 })
}
