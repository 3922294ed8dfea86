// What `cardea check` finds out about the store: its file and folder, and the records in it.
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Settings } from '../config/settings.ts'
import type { HealthView } from '../dialects/admin-api/schemas/system.ts'
import { reasonOf } from '../kernel/start-error.ts'
import type { CheckFlags, Finding } from '../modules/module.ts'
import { listLookAlikes, listUnreadableUsers } from '../store/backup/check-records.ts'
import { hasStore, readStore } from '../store/backup/engines.ts'
import { findDamage } from '../store/sqlite/database.ts'
import { findStoreFile } from '../store/store-url.ts'
import { renderNames } from './table.ts'

export interface AreaFinding extends Finding {
  readonly area: string
}

/** What the check of one area found; empty: nothing is wrong. */
export type AreaFindings = readonly Finding[]

export interface Machine {
  readonly settings: Settings
  readonly cwd: string
  /** Why the store could not be read. */
  readonly storeProblem: string | undefined
  /** What the running server says about itself, or why it does not; `undefined`: none is running. */
  readonly server: HealthView | string | undefined
  readonly flags: CheckFlags
}

const LITTLE_SPACE_BYTES = 100_000_000
const AS_OWNER = 'Run this as the user of the server, or change the owner of the folder.'

export async function checkStore({ settings, storeProblem, server }: Machine): Promise<AreaFindings> {
  const { url } = settings.values.store
  const file = findStoreFile(url)
  const reported = typeof server === 'object' ? server.parts.find(({ name }) => name === 'store')?.problem : undefined
  if (reported) return [{ level: 'problem', message: `the running server cannot use it: ${reported}` }]
  if (storeProblem !== undefined) {
    if (file !== undefined) return [{ level: 'problem', message: storeProblem }]
    return [{ level: 'problem', message: storeProblem, advice: 'Start the database server, or correct store.url.' }]
  }
  if (file === undefined) return url.startsWith('sqlite:') ? [] : checkRecords(settings)
  return [...(existsSync(file) ? await checkStoreFile(file, settings) : []), ...checkStoreFolder(dirname(file))]
}

/** A start checks only files that are small. */
async function checkStoreFile(file: string, settings: Settings): Promise<AreaFindings> {
  if (!isWritable(file)) return [{ level: 'problem', message: `${file} cannot be written`, advice: AS_OWNER }]
  const damage = findDamage(file)
  return damage === undefined ? checkRecords(settings) : [{ level: 'problem', message: damage }]
}

const RESTORE = 'Stop the server and restore an earlier backup with "cardea restore FILE --replace".'

/** The database does not notice damage to the text of a record, and requests of other users do not read it. */
async function checkRecords({ values, admins }: Settings): Promise<AreaFindings> {
  const { url } = values.store
  try {
    if (!(await hasStore(url))) return []
    const names = await readStore(url, listUnreadableUsers)
    const message = `records of users are damaged: ${renderNames(names)}`
    if (names.length > 0) return [{ level: 'problem', message, advice: RESTORE }]
    const administrators = admins.map(({ name }) => name)
    const alike = await readStore(url, (snapshot) => listLookAlikes(snapshot, administrators))
    const pairs = `names of users and administrators differ only in case or in the form of their characters: ${renderNames(alike)}`
    return alike.length === 0 ? [] : [{ level: 'warning', message: pairs, advice: ALIKE }]
  } catch (error) {
    return [{ level: 'problem', message: reasonOf(error) }]
  }
}

const ALIKE = 'They stay separate accounts. With auth.names = folded no further ones can be created.'

function checkStoreFolder(folder: string): AreaFindings {
  if (!isWritable(folder)) return [{ level: 'problem', message: `${folder} cannot be written`, advice: AS_OWNER }]
  const { bavail, bsize } = statfsSync(folder)
  const freeBytes = bavail * bsize
  if (freeBytes > LITTLE_SPACE_BYTES) return []
  const message = `${folder} has ${Math.floor(freeBytes / 1_000_000)} MB of free space`
  return [{ level: 'warning', message, advice: 'Free some space, or move the store.' }]
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
