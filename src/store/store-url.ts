import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

const SQLITE = /^sqlite:(?:\/\/)?(?!\/*$)(.+)$/s

/** The file of a store that is one, by one name whatever links lead to it; `undefined` for a server or memory. */
export function findStoreFile(url: string): string | undefined {
  const [, path] = SQLITE.exec(url) ?? []
  if (path === undefined || path === ':memory:') return undefined
  const file = resolve(path)
  return tryRealPath(file) ?? join(tryRealPath(dirname(file)) ?? dirname(file), basename(file))
}

function tryRealPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
