/** The test files of a run, which its processes take one by one: whichever is idle takes the next. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const toTaken = (folder: string, file: string): string => join(folder, `taken-${encodeURIComponent(file)}`)
const toEnded = (folder: string): string => join(folder, 'ended')

/** Those that no other process has taken. `taker` is the path of the process. */
export function* takeFiles(folder: string, files: readonly string[], taker: string): Generator<string> {
  for (const file of files) if (take(toTaken(folder, file), taker)) yield file
}

function take(path: string, taker: string): boolean {
  try {
    writeFileSync(path, taker, { flag: 'wx' })
    return true
  } catch (error) {
    if (existsSync(path)) return false
    throw error
  }
}

export const noteEnd = (folder: string, file: string): void => appendFileSync(toEnded(folder), `${file}\n`)

/** Files that no process took, or that did not end as their process did. */
export function listUnfinished(folder: string, files: readonly string[]): string[] {
  const ended = existsSync(toEnded(folder)) ? readFileSync(toEnded(folder), 'utf8').split('\n') : []
  return files.filter((file) => !ended.includes(file))
}

export const listTakenBy = (folder: string, files: readonly string[], taker: string): string[] =>
  files.filter((file) => {
    const path = toTaken(folder, file)
    return existsSync(path) && readFileSync(path, 'utf8') === taker
  })
