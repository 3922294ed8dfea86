// What `cardea check` finds out about the store: its file and folder, and the records in it.
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Settings } from '../config/settings.ts'
import type { Health } from '../dialects/admin-api/schemas/system.ts'
import { reasonOf } from '../kernel/start-error.ts'
import { mayStoreExist } from '../live-config/load.ts'
import { listLookAlikes, listUnreadableUsers, listUsersWithGivenRoles } from '../store/backup/check-records.ts'
import { hasStore, readStore } from '../store/backup/engines.ts'
import type { StoreSnapshot } from '../store/backup/snapshot.ts'
import { findDamage } from '../store/sqlite/database.ts'
import { findStoreFile } from '../store/store-url.ts'
import { toRoleIssuers } from '../wiring/settings.ts'
import { renderNames } from './table.ts'

export interface AreaFinding {
  readonly level: 'ok' | 'warning' | 'problem'
  readonly area: string
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
}

/** What the check of one area found; empty: nothing is wrong. */
export type AreaFindings = readonly Omit<AreaFinding, 'area'>[]

export interface Machine {
  readonly settings: Settings
  readonly cwd: string
  /** Why the store could not be read. */
  readonly storeProblem: string | undefined
  /** What the running server says about itself, or why it does not; `undefined`: none is running. */
  readonly server: Health | string | undefined
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
  if (file === undefined) return url.startsWith('sqlite:') ? [] : checkRecords(url)
  return [...(existsSync(file) ? await checkStoreFile(file, url) : []), ...checkStoreFolder(dirname(file))]
}

/** A start checks only files that are small. */
async function checkStoreFile(file: string, url: string): Promise<AreaFindings> {
  if (!isWritable(file)) return [{ level: 'problem', message: `${file} cannot be written`, advice: AS_OWNER }]
  const damage = findDamage(file)
  return damage === undefined ? checkRecords(url) : [{ level: 'problem', message: damage }]
}

const RESTORE = 'Stop the server and restore an earlier backup with "cardea restore FILE --replace".'

/** The database does not notice damage to the text of a record, and requests of other users do not read it. */
async function checkRecords(url: string): Promise<AreaFindings> {
  try {
    if (!(await hasStore(url))) return []
    const names = await readStore(url, listUnreadableUsers)
    const message = `records of users are damaged: ${renderNames(names)}`
    if (names.length > 0) return [{ level: 'problem', message, advice: RESTORE }]
    const alike = await readStore(url, listLookAlikes)
    const pairs = `names of users differ only in case or in the form of their characters: ${renderNames(alike)}`
    return alike.length === 0 ? [] : [{ level: 'warning', message: pairs, advice: ALIKE }]
  } catch (error) {
    return [{ level: 'problem', message: reasonOf(error) }]
  }
}

const ALIKE = 'They stay separate users. With auth.names = folded no further ones can be created.'

const REMOVE_ROLES =
  'Their own roles count with every credential, those that a provider gives only in its own sessions and tokens. Remove the roles that the provider shall give.'

/** An operator may have given users the roles of their provider, which they keep when the provider no longer gives them. */
export async function checkGivenRoles({ settings, storeProblem }: Machine): Promise<AreaFindings> {
  const { url } = settings.values.store
  const issuers = toRoleIssuers(settings.open.provider)
  if (issuers.size === 0 || storeProblem !== undefined || !mayStoreExist(url)) return []
  const list = (snapshot: StoreSnapshot) => listUsersWithGivenRoles(snapshot, issuers)
  // why it cannot be read is a finding about the store
  const names = await hasStore(url)
    .then((isThere) => (isThere ? readStore(url, list) : []))
    .catch(() => [])
  const message = `users have roles of their own that their identity provider can give: ${renderNames(names)}`
  return names.length === 0 ? [] : [{ level: 'warning', message, advice: REMOVE_ROLES }]
}

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
