// Brings the administrators of all layers into force: hashes what is in clear, once, and puts the hash where every
// node finds it and, for files, where the clear text stood.
import type { Log } from '../base/log.ts'
import { rewriteAdmin } from '../config/admin-file.ts'
import { type AdminEntry, renderSource, type Settings } from '../config/settings.ts'
import {
  type AdministratorChanges,
  type AdministratorsReading,
  chooseAdministrators,
  type LayeredText,
  readAdministrators,
} from '../identity/administrators.ts'
import { readAdminPassword, renderAdminPassword } from '../identity/password/admin-password.ts'
import type { Hasher, HashParameters } from '../identity/password/hasher.ts'
import { checkPassword, type PasswordRules } from '../identity/password/password-rules.ts'
import type { StoredLayer } from './runtime.ts'

export interface HashingNeeds {
  readonly runtime: Pick<StoredLayer, 'seedAdministrator' | 'listSeen' | 'setSeen'>
  readonly hasher: Hasher
  readonly parameters: HashParameters
  readonly rules: PasswordRules
  readonly log: Log
}

type Entry = AdminEntry & LayeredText

type Administrators = Pick<Settings, 'admins' | 'deletedAdmins'>

/** Puts the hash of every password in clear into the run-time layer, where it is not there yet. Gives how many. */
export async function hashAdministrators(
  { admins, deletedAdmins }: Administrators,
  needs: HashingNeeds,
): Promise<number> {
  const seen = await needs.runtime.listSeen()
  const layered = admins.map(toLayered)
  const entries: Entry[] = []
  for (const entry of layered) entries.push(await judgeIntent(entry, seen.get(entry.name), layered, needs))
  const { plain } = readAdministrators(chooseAdministrators(entries, deletedAdmins), new Map())
  let hashed = 0
  for (const entry of plain) if (await hashEntry(entry, entries, needs)) hashed += 1
  return hashed
}

/**
 * Clear text in a file is new intent once. The same again, in a file nobody could rewrite or that came back as it was,
 * only seeds: else each start would undo what was changed or deleted at run time.
 */
async function judgeIntent(
  entry: Entry,
  seen: string | undefined,
  all: readonly Entry[],
  needs: HashingNeeds,
): Promise<Entry> {
  const mayBeSeen = seen !== undefined && entry.layer === 'file' && isInClear(entry)
  if (!mayBeSeen || !(await isSamePassword(seen, entry.text, needs))) return entry
  if (findKept(entry, all)?.text !== seen) {
    const fields = { name: entry.name, place: renderSource(entry.source) }
    needs.log.warn('password of an administrator does not count: changed or deleted at run time since', fields)
  }
  writeBack(entry, seen, needs.log)
  return toSeed(entry)
}

const findKept = (entry: Entry, all: readonly Entry[]): Entry | undefined =>
  all.find(({ name, layer }) => name === entry.name && layer === 'run time')

/**
 * Who is an administrator now. What is in clear in a file has been hashed before; seen again it is no new intent, and
 * only seeds, so that what was changed or deleted at run time stays so.
 */
export function findAdministrators(
  { admins, deletedAdmins }: Administrators,
  changes: AdministratorChanges,
): AdministratorsReading<Entry> {
  const entries = admins.map(toLayered).map((entry) => (isInClear(entry) ? toSeed(entry) : entry))
  return readAdministrators(chooseAdministrators(entries, deletedAdmins), changes)
}

/** One malformed entry is reported and left out; the others stand. */
export function reportMalformed({ malformed }: AdministratorsReading<Entry>, log: Log): void {
  for (const { entry, reason } of malformed) {
    log.error('administrator refused', { name: entry.name, place: renderSource(entry.source), reason })
  }
}

function toLayered(entry: AdminEntry): Entry {
  const { kind } = entry.source
  return { ...entry, layer: kind === 'default' ? 'file' : kind }
}

const toSeed = (entry: Entry): Entry => (entry.layer === 'file' ? { ...entry, layer: 'environment' } : entry)

const isInClear = ({ text }: Entry): boolean => readAdminPassword(text).kind === 'plain'

async function hashEntry(entry: Entry, all: readonly Entry[], needs: HashingNeeds): Promise<boolean> {
  const kept = findKept(entry, all)
  const isKept = kept !== undefined && (await isSamePassword(kept.text, entry.text, needs))
  const text = isKept ? kept.text : await hash(entry, needs)
  // writing it again would end the sessions of that name at every start
  if (!isKept) await needs.runtime.seedAdministrator(entry.name, text)
  if (entry.layer === 'file') {
    await needs.runtime.setSeen(entry.name, text)
    writeBack(entry, text, needs.log)
  }
  return !isKept
}

async function isSamePassword(
  stored: string,
  password: string,
  { hasher, parameters }: HashingNeeds,
): Promise<boolean> {
  const reading = readAdminPassword(stored)
  return reading.kind === 'stored' && (await hasher.verify(reading.password, password, parameters))
}

async function hash({ name, text, source }: Entry, { hasher, parameters, rules, log }: HashingNeeds): Promise<string> {
  if (checkPassword(rules, text) !== undefined) {
    const place = renderSource(source)
    log.warn('password of an administrator does not conform to chttpd_auth.password_regexp', { name, place })
  }
  return renderAdminPassword(await hasher.hash(text, parameters))
}

function writeBack(entry: Entry, text: string, log: Log): void {
  const problem = rewriteAdmin(entry, text)
  const fields = { name: entry.name, place: renderSource(entry.source) }
  if (problem === undefined) log.info('password of an administrator hashed', fields)
  else log.warn('password of an administrator stays in clear text in its file', { ...fields, reason: problem })
}
