import { DIRECTORY } from './0001-directory.ts'
import type { Migration } from './migration.ts'

/** In order of their numbers, which have no gap. */
export const MIGRATIONS: readonly Migration[] = [DIRECTORY]
