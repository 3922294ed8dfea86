import type { AdminEntry, Settings } from '../config/settings.ts'
import {
  type AdministratorChanges,
  type AdministratorsReading,
  chooseAdministrators,
  isGivenInClear,
  type LayeredText,
  readAdministrators,
} from '../directory/administrators.ts'

export type Entry = AdminEntry & LayeredText

export type Administrators = Pick<Settings, 'admins' | 'deletedAdmins'>

/** Hashes that replace the passwords of administrators in files, environment and flags. */
export interface FileHashes {
  /** By name, the hash of the plain text. */
  readonly clear: ReadonlyMap<string, string>
  /** By hash, the stronger one that replaced it at a sign-in. */
  readonly upgraded: ReadonlyMap<string, string>
}

export const NO_HASHES: FileHashes = { clear: new Map(), upgraded: new Map() }

/** The current administrators. Plain text that is given is replaced by its hash. */
export const findAdministrators = (
  { admins, deletedAdmins }: Administrators,
  changes: AdministratorChanges,
  hashes: FileHashes = NO_HASHES,
): AdministratorsReading<Entry> => readAdministrators(chooseHashed({ admins, deletedAdmins }, hashes), changes)

/**
 * `layered`: of each name, the entry of the highest of files, environment and flags, and the one made at run time.
 * `hidden`: those that one of a higher layer overrules.
 */
export function toLayers(admins: Settings['admins']) {
  const given = new Map(admins.filter((entry) => !isOfRunTime(entry)).map((entry) => [entry.name, entry]))
  const isCounting = (entry: AdminEntry) => isOfRunTime(entry) || given.get(entry.name) === entry
  return {
    layered: admins
      .filter(isCounting)
      .map((entry) => ({ ...entry, layer: isOfRunTime(entry) ? ('run time' as const) : ('given' as const) })),
    hidden: admins.filter((entry) => !isCounting(entry)),
  }
}

const isOfRunTime = ({ source }: AdminEntry): boolean => source.kind === 'run time'

export function withHash(entry: Entry, { clear, upgraded }: FileHashes): Entry {
  if (entry.layer === 'run time') return entry
  const text = (isGivenInClear(entry) ? clear.get(entry.name) : undefined) ?? entry.text
  return { ...entry, text: upgraded.get(text) ?? text }
}

/** The entry that counts for each name. Plain text that was not hashed yet overrides no change made at run time. */
export function chooseHashed({ admins, deletedAdmins }: Administrators, hashes: FileHashes): readonly Entry[] {
  const entries = toLayers(admins).layered.map((entry) => withHash(entry, hashes))
  const isIgnored = (entry: Entry) =>
    isGivenInClear(entry) && (deletedAdmins.includes(entry.name) || findKept(entry, entries) !== undefined)
  return chooseAdministrators(
    entries.filter((entry) => !isIgnored(entry)),
    deletedAdmins,
  )
}

/** The entry of the same name that was made at run time. */
export const findKept = (entry: Entry, all: readonly Entry[]): Entry | undefined =>
  all.find(({ name, layer }) => name === entry.name && layer === 'run time')
