// Whether the open files of the database are still the ones at their paths.
import { type BigIntStats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Engine } from '../engine.ts'
import { MEMORY } from '../store-url.ts'
import { createMisplaced } from './errors.ts'

export type Place = Pick<Engine, 'requirePlace'>

/** Call it when the database is open. The write-ahead log is looked for too: it holds the last writes. */
export function createPlace(location: string): Place {
  if (location === MEMORY) return {}
  const path = resolve(location)
  const opened = [path, `${path}-wal`].map((file) => ({ file, stats: findStats(file) }))
  return {
    requirePlace() {
      for (const { file, stats } of opened) if (stats && !isSame(stats, findStats(file))) throw createMisplaced(file)
    },
  }
}

const isSame = (opened: BigIntStats, found: BigIntStats | undefined): boolean =>
  opened.ino === found?.ino && opened.dev === found.dev

function findStats(file: string): BigIntStats | undefined {
  try {
    return statSync(file, { bigint: true })
  } catch {
    return undefined
  }
}
