import { DIRECTORY } from './0001-directory.ts'
import { USED_CODES } from './0002-used-codes.ts'
import { HASH_WORK } from './0003-hash-work.ts'
import { ENDED_SESSION_NAMES } from './0004-ended-session-names.ts'
import { FAILURES } from './0005-failures.ts'
import type { Migration } from './migration.ts'

/** In order of their numbers, which have no gap. */
export const MIGRATIONS: readonly Migration[] = [DIRECTORY, USED_CODES, HASH_WORK, ENDED_SESSION_NAMES, FAILURES]
