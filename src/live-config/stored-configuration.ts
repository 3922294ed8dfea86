import { existsSync } from 'node:fs'
import { SILENT_LOG } from '../base/log.ts'
import type { LoadInput } from '../config/load.ts'
import type { Reading } from '../config/read.ts'
import type { RuntimeEntry } from '../config/runtime.ts'
import { openStore } from '../store/create-store.ts'
import { findStoreFile } from '../store/store-url.ts'
import { openConfiguration } from './load.ts'
import { toEntries } from './stored-layer.ts'

/** Everything a start would read, the run-time layer included; it is only read, so a server may be at work on it. */
export async function loadStoredConfiguration(input: Omit<LoadInput, 'rules'>): Promise<Reading> {
  const read = openConfiguration(input)
  const first = read([])
  if (first.problems.length > 0) return first
  try {
    return read(await listStored(first.settings.values.store.url))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { ...first, warnings: [...first.warnings, `what was set at run time could not be read: ${why}`] }
  }
}

async function listStored(url: string): Promise<readonly RuntimeEntry[]> {
  const file = findStoreFile(url)
  const isNowhere = file === undefined ? url.startsWith('sqlite:') : !existsSync(file)
  if (isNowhere) return []
  const store = await openStore(url, { log: SILENT_LOG })
  try {
    return toEntries((await store.listSettings()).settings)
  } finally {
    await store.close()
  }
}
