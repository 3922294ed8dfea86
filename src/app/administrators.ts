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
import { type Hasher, type HashParameters, NO_DECOY } from '../identity/password/hasher.ts'
import { checkPassword, type PasswordRules } from '../identity/password/password-rules.ts'
import type { RuntimeReading, StoredLayer } from './runtime.ts'

export interface HashingNeeds {
  readonly runtime: Pick<StoredLayer, 'seedAdministrator' | 'setSeen'>
  readonly hasher: Hasher
  readonly parameters: HashParameters
  readonly rules: PasswordRules
  readonly log: Log
}

type Entry = AdminEntry & LayeredText

type Administrators = Pick<Settings, 'admins' | 'deletedAdmins'>

type GivenAdministrators = Administrators & Pick<Settings, 'overruledPasswords'>

/** By name, the hash that stands for the clear text a file has for an administrator. */
export type FileHashes = ReadonlyMap<string, string>

export const NO_HASHES: FileHashes = new Map()

export interface Hashed {
  readonly hashes: FileHashes
  readonly isWritten: boolean
}

/** Hashes every password in clear that is not hashed yet, and puts the hash where every node finds it. */
export async function hashAdministrators(
  { admins, deletedAdmins, overruledPasswords }: GivenAdministrators,
  { seen, sequence }: Pick<RuntimeReading, 'seen' | 'sequence'>,
  needs: HashingNeeds,
): Promise<Hashed> {
  await hashOverruled(overruledPasswords.map(toLayered), needs)
  const hashes = new Map(await findHashes(admins, seen, NO_HASHES, needs))
  const layered = admins.map(toLayered)
  for (const entry of layered) reportSeen(entry, hashes.get(entry.name), { layered, deletedAdmins, log: needs.log })
  const entries = layered.map((entry) => withHash(entry, hashes))
  const { plain } = readAdministrators(chooseAdministrators(entries, deletedAdmins), new Map())
  let unchangedSince = sequence
  for (const entry of plain) {
    const made = await hashEntry(entry, entries, unchangedSince, needs)
    unchangedSince = made.sequence
    if (entry.layer === 'file') hashes.set(entry.name, made.text)
  }
  return { hashes, isWritten: plain.length > 0 }
}

/** A line that does not count keeps no password in clear either. Its hash is written to the file alone. */
async function hashOverruled(entries: readonly Entry[], { hasher, parameters, log }: HashingNeeds): Promise<void> {
  for (const entry of entries.filter(isClearInFile)) {
    writeBack(entry, renderAdminPassword(await hasher.hash(entry.text, parameters)), log)
  }
}

/**
 * The hashes all nodes have for what stands in clear in files: clear text is new intent once. The same again, in a file
 * nobody could rewrite or that came back as it was, is the hash that was made of it then: else each start would undo
 * what was changed or deleted at run time. What another node has made of another text leaves `before` as it is.
 */
export async function findHashes(
  admins: Settings['admins'],
  seen: ReadonlyMap<string, string>,
  before: FileHashes,
  needs: Pick<HashingNeeds, 'hasher' | 'parameters'>,
): Promise<FileHashes> {
  const found = new Map<string, string>()
  for (const { name, text } of admins.map(toLayered).filter(isClearInFile)) {
    const [own, known] = [before.get(name), seen.get(name)]
    const isKnown = known !== undefined && (known === own || (await isSamePassword(known, text, needs)))
    const hash = isKnown ? known : own
    if (hash !== undefined) found.set(name, hash)
  }
  return found
}

interface Around {
  readonly layered: readonly Entry[]
  readonly deletedAdmins: readonly string[]
  readonly log: Log
}

/** Of clear text that was seen before: whether it counts, and whether it can leave the file now. */
function reportSeen(entry: Entry, hash: string | undefined, { layered, deletedAdmins, log }: Around): void {
  if (hash === undefined || !isClearInFile(entry)) return
  if (findKept(entry, layered) || deletedAdmins.includes(entry.name)) {
    const fields = { name: entry.name, place: renderSource(entry.source) }
    log.warn('password of an administrator does not count: changed or deleted at run time since', fields)
  }
  writeBack(entry, hash, log)
}

const findKept = (entry: Entry, all: readonly Entry[]): Entry | undefined =>
  all.find(({ name, layer }) => name === entry.name && layer === 'run time')

/** Who is an administrator now. What is in clear in a file counts as the hash that was made of it. */
export function findAdministrators(
  { admins, deletedAdmins }: Administrators,
  changes: AdministratorChanges,
  hashes: FileHashes = NO_HASHES,
): AdministratorsReading<Entry> {
  const entries = admins.map(toLayered).map((entry) => toSeed(withHash(entry, hashes)))
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

const isInClear = ({ text }: Entry): boolean => readAdminPassword(text).kind === 'plain'

const isClearInFile = (entry: Entry): boolean => entry.layer === 'file' && isInClear(entry)

function withHash(entry: Entry, hashes: FileHashes): Entry {
  const text = isClearInFile(entry) ? hashes.get(entry.name) : undefined
  return text === undefined ? entry : { ...entry, text }
}

/** What has not been hashed is no intent yet. */
const toSeed = (entry: Entry): Entry => (isClearInFile(entry) ? { ...entry, layer: 'environment' } : entry)

interface Made {
  readonly text: string
  /** Up to which nobody else has changed an administrator. */
  readonly sequence: number
}

async function hashEntry(
  entry: Entry,
  all: readonly Entry[],
  unchangedSince: number,
  needs: HashingNeeds,
): Promise<Made> {
  const kept = findKept(entry, all)
  const isKept = kept !== undefined && (await isSamePassword(kept.text, entry.text, needs))
  const text = isKept ? kept.text : await hash(entry, needs)
  // writing it again would end the sessions of that name
  const sequence = isKept ? unchangedSince : await needs.runtime.seedAdministrator(entry.name, text, unchangedSince)
  if (entry.layer === 'file') {
    // after it, or it would still be a change made at run time
    await needs.runtime.setSeen(entry.name, text)
    writeBack(entry, text, needs.log)
  }
  return { text, sequence }
}

async function isSamePassword(
  stored: string,
  password: string,
  { hasher }: Pick<HashingNeeds, 'hasher'>,
): Promise<boolean> {
  const reading = readAdminPassword(stored)
  return reading.kind === 'stored' && (await hasher.verify(reading.password, password, NO_DECOY))
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
