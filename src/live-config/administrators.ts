// The administrators of all layers. Hashes plain-text passwords once, stores the hash for every node, and replaces the
// plain text in files.
import type { Log } from '../base/log.ts'
import { rewriteAdmin } from '../config/admin-file.ts'
import { type AdminEntry, renderSource, type Settings } from '../config/settings.ts'
import {
  type AdministratorChanges,
  type AdministratorsReading,
  chooseAdministrators,
  type LayeredText,
  readAdministrators,
} from '../directory/administrators.ts'
import { readAdminPassword, renderAdminPassword } from '../passwords/admin-password.ts'
import { type Hasher, NO_DECOY } from '../passwords/hasher.ts'
import { checkPassword, type PasswordRules } from '../passwords/password-rules.ts'
import type { HashParameters } from '../passwords/schemes/scheme.ts'
import type { RuntimeReading } from './setting-records.ts'
import type { AdministratorRecords } from './stored-layer.ts'

export interface HashingDeps {
  readonly records: Pick<AdministratorRecords, 'seedAdministrator' | 'setSeen'>
  readonly hasher: Hasher
  readonly parameters: HashParameters
  readonly rules: PasswordRules
  readonly log: Log
}

type Entry = AdminEntry & LayeredText

type Administrators = Pick<Settings, 'admins' | 'deletedAdmins'>

type GivenAdministrators = Administrators & Pick<Settings, 'overruledPasswords'>

/** Hashes that replace the passwords of administrators in files, environment and flags. */
export interface FileHashes {
  /** By name, the hash of the plain text in a file. */
  readonly clear: ReadonlyMap<string, string>
  /** By hash, the stronger one that replaced it at a sign-in. */
  readonly upgraded: ReadonlyMap<string, string>
}

const NO_HASHES: FileHashes = { clear: new Map(), upgraded: new Map() }

export interface Hashed {
  readonly hashes: FileHashes
  readonly isWritten: boolean
}

/** Hashes every plain-text password that is not hashed yet, and stores the hash for every node. */
export async function hashAdministrators(
  { admins, deletedAdmins, overruledPasswords }: GivenAdministrators,
  { seen, upgraded, sequence }: Pick<RuntimeReading, 'seen' | 'upgraded' | 'sequence'>,
  deps: HashingDeps,
): Promise<Hashed> {
  await hashOverruled(overruledPasswords.map(toLayered), deps)
  const known = await findHashes(admins, { seen, upgraded }, NO_HASHES, deps)
  const clear = new Map(known.clear)
  const layered = admins.map(toLayered)
  for (const entry of layered) reportSeen(entry, clear.get(entry.name), { layered, deletedAdmins, log: deps.log })
  const entries = layered.map((entry) => withHash(entry, known))
  const { plain } = readAdministrators(chooseAdministrators(entries, deletedAdmins), new Map())
  let unchangedSince = sequence
  for (const entry of plain) {
    const made = await hashEntry(entry, entries, unchangedSince, deps)
    unchangedSince = made.sequence
    if (entry.layer === 'file') clear.set(entry.name, made.text)
  }
  return { hashes: { ...known, clear }, isWritten: plain.length > 0 }
}

/** Plain-text passwords in ignored lines are hashed too. The hash is written to the file only. */
async function hashOverruled(entries: readonly Entry[], { hasher, parameters, log }: HashingDeps): Promise<void> {
  for (const entry of entries.filter(isClearInFile)) {
    writeBack(entry, renderAdminPassword(await hasher.hash(entry.text, parameters)), log)
  }
}

/**
 * The stored hashes of plain-text passwords in files. Plain text counts as a change only the first time. If it is read
 * again, because the file could not be rewritten or was restored, its earlier hash is used: otherwise each start would
 * undo changes made at run time. A hash of another text, made by another node, keeps `before`.
 */
export async function findHashes(
  admins: Settings['admins'],
  { seen, upgraded }: Pick<RuntimeReading, 'seen' | 'upgraded'>,
  before: FileHashes,
  deps: Pick<HashingDeps, 'hasher'>,
): Promise<FileHashes> {
  const entries = admins.map(toLayered)
  const clear = new Map<string, string>()
  for (const { name, text } of entries.filter(isClearInFile)) {
    const [own, known] = [before.clear.get(name), seen.get(name)]
    const isKnown = known !== undefined && (known === own || (await isSamePassword(known, text, deps)))
    const hash = isKnown ? known : own
    if (hash !== undefined) clear.set(name, hash)
  }
  const stored = entries.map((entry) => withHash(entry, { clear, upgraded: NO_HASHES.upgraded }))
  return { clear, upgraded: await findUpgraded(stored, upgraded, before.upgraded, deps) }
}

/** Which hashes were replaced. The old hash is compared like a password, because only its hash is stored. */
async function findUpgraded(
  entries: readonly Entry[],
  upgraded: RuntimeReading['upgraded'],
  before: FileHashes['upgraded'],
  deps: Pick<HashingDeps, 'hasher'>,
): Promise<FileHashes['upgraded']> {
  const found = new Map<string, string>()
  for (const { name, text } of entries.filter(({ layer }) => layer !== 'run time')) {
    const record = upgraded.get(name)
    if (!record || record.text === text) continue
    const isReplaced = before.get(text) === record.text || (await isSamePassword(record.proof, text, deps))
    if (isReplaced) found.set(text, record.text)
  }
  return found
}

interface Around {
  readonly layered: readonly Entry[]
  readonly deletedAdmins: readonly string[]
  readonly log: Log
}

/** Logs whether known plain text is ignored, and tries again to hash it in the file. */
function reportSeen(entry: Entry, hash: string | undefined, { layered, deletedAdmins, log }: Around): void {
  if (hash === undefined || !isClearInFile(entry)) return
  if (findKept(entry, layered) || deletedAdmins.includes(entry.name)) {
    const fields = { name: entry.name, place: renderSource(entry.source) }
    log.warn('password of an administrator in a file is ignored: changed or deleted at run time since', fields)
  }
  writeBack(entry, hash, log)
}

const findKept = (entry: Entry, all: readonly Entry[]): Entry | undefined =>
  all.find(({ name, layer }) => name === entry.name && layer === 'run time')

/** The current administrators. Plain text in a file is replaced by its hash. */
export function findAdministrators(
  { admins, deletedAdmins }: Administrators,
  changes: AdministratorChanges,
  hashes: FileHashes = NO_HASHES,
): AdministratorsReading<Entry> {
  const entries = admins.map(toLayered).map((entry) => toSeed(withHash(entry, hashes)))
  return readAdministrators(chooseAdministrators(entries, deletedAdmins), changes)
}

/** Malformed entries are logged and skipped. */
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

function withHash(entry: Entry, { clear, upgraded }: FileHashes): Entry {
  if (entry.layer === 'run time') return entry
  const text = (isClearInFile(entry) ? clear.get(entry.name) : undefined) ?? entry.text
  return { ...entry, text: upgraded.get(text) ?? text }
}

/** Plain text that was not hashed yet does not override changes made at run time. */
const toSeed = (entry: Entry): Entry => (isClearInFile(entry) ? { ...entry, layer: 'environment' } : entry)

export interface Upgrade {
  readonly name: string
  /** The current hash. */
  readonly from: string
  readonly to: string
}

type UpgradeDeps = Pick<HashingDeps, 'hasher' | 'parameters' | 'log'> & {
  readonly records: Pick<AdministratorRecords, 'replaceHash' | 'setUpgraded'>
}

/** Replaces a hash by a stronger one in the layer that contains it, unless it has changed. */
export async function upgradeAdministrator(
  { admins, deletedAdmins }: Administrators,
  { fileHashes, sequence }: { readonly fileHashes: FileHashes; readonly sequence: number },
  { name, from, to }: Upgrade,
  { records, hasher, parameters, log }: UpgradeDeps,
): Promise<void> {
  const entries = admins.map(toLayered).map((entry) => toSeed(withHash(entry, fileHashes)))
  const entry = chooseAdministrators(entries, deletedAdmins).find((candidate) => candidate.name === name)
  if (entry?.text !== from) return
  if (entry.layer === 'run time') return records.replaceHash(name, to, sequence)
  await records.setUpgraded(name, { proof: renderAdminPassword(await hasher.hash(from, parameters)), text: to })
  // a file that cannot be rewritten keeps the weaker hash, which is no longer used
  const problem = rewriteAdmin({ ...entry, text: from }, to)
  log.info('stored password of an administrator replaced by a stronger one', {
    name,
    ...(problem && { file: problem }),
  })
}

interface Made {
  readonly text: string
  /** No other node changed an administrator up to here. */
  readonly sequence: number
}

async function hashEntry(
  entry: Entry,
  all: readonly Entry[],
  unchangedSince: number,
  deps: HashingDeps,
): Promise<Made> {
  const kept = findKept(entry, all)
  const isKept = kept !== undefined && (await isSamePassword(kept.text, entry.text, deps))
  const text = isKept ? kept.text : await hash(entry, deps)
  // writing it again would revoke the sessions of that administrator
  const sequence = isKept ? unchangedSince : await deps.records.seedAdministrator(entry.name, text, unchangedSince)
  if (entry.layer === 'file') {
    // afterwards, otherwise the hash would be a change made at run time
    await deps.records.setSeen(entry.name, text)
    writeBack(entry, text, deps.log)
  }
  return { text, sequence }
}

async function isSamePassword(
  stored: string,
  password: string,
  { hasher }: Pick<HashingDeps, 'hasher'>,
): Promise<boolean> {
  const reading = readAdminPassword(stored)
  return reading.kind === 'stored' && (await hasher.verify(reading.password, password, { decoy: NO_DECOY }))
}

async function hash({ name, text, source }: Entry, { hasher, parameters, rules, log }: HashingDeps): Promise<string> {
  if (checkPassword(rules, text) !== undefined) {
    const place = renderSource(source)
    log.warn('password of an administrator does not conform to the rules for passwords', { name, place })
  }
  return renderAdminPassword(await hasher.hash(text, parameters))
}

function writeBack(entry: Entry, text: string, log: Log): void {
  const problem = rewriteAdmin(entry, text)
  const fields = { name: entry.name, place: renderSource(entry.source) }
  if (problem === undefined) log.info('password of an administrator hashed', fields)
  else log.warn('password of an administrator stays in clear text in its file', { ...fields, reason: problem })
}
