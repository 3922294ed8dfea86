import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { attempt } from '../base/errors.ts'

export type StoreScheme = 'sqlite' | 'postgres'

const STORE_URL = /^(sqlite|postgres|postgresql):(?:\/\/)?(?!\/*$)(.+)$/s

/** `path`: what follows the scheme; for SQLite the path of the file, or `:memory:`. */
export function readStoreUrl(url: string) {
  const [, written, path] = STORE_URL.exec(url) ?? []
  const scheme: StoreScheme = written === 'sqlite' ? 'sqlite' : 'postgres'
  return path === undefined ? undefined : { scheme, path }
}

export const MEMORY = ':memory:'

/** The file of a SQLite store, with symbolic links resolved; `undefined` for a server or a store in memory. */
export function findStoreFile(url: string): string | undefined {
  const read = readStoreUrl(url)
  if (read?.scheme !== 'sqlite' || read.path === MEMORY) return undefined
  const file = resolve(read.path)
  return tryRealPath(file) ?? join(tryRealPath(dirname(file)) ?? dirname(file), basename(file))
}

const tryRealPath = (path: string): string | undefined => attempt(() => realpathSync(path))
