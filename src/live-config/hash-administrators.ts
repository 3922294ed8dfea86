// Hashes plain-text passwords of administrators once, stores the hash for every node, and replaces the plain text in
// files.
import type { Log } from '../base/log.ts'
import { rewriteAdmin } from '../config/admin-file.ts'
import type { Config } from '../config/options.ts'
import { type AdminEntry, renderSource, type Settings } from '../config/settings.ts'
import {
  type AdministratorAccount,
  chooseAdministrators,
  isGivenInClear,
  readAdministrators,
  toPasskeyEntry,
} from '../directory/administrators.ts'
import { type Hasher, NO_DECOY } from '../passwords/hasher.ts'
import { checkPassword } from '../passwords/password-rules.ts'
import { readAdminPassword, renderAdminPassword } from '../passwords/schemes.ts'
import { chooseHashed, type Entry, type FileHashes, findKept, NO_HASHES, toLayers, withHash } from './administrators.ts'
import { toHashParameters, toPasswordRules } from './password-settings.ts'
import type { AdministratorRecords, RuntimeReading } from './stored-layer.ts'

/** What hashes, and where hashes are kept. */
export interface Hashing {
  readonly runtime: { readonly administrators: AdministratorRecords }
  readonly hasher: Hasher
  readonly log: Log
}

/** Hashes every plain-text password that is not hashed yet, and stores the hash for every node. */
export async function hashAdministrators(
  settings: Settings,
  { seen, upgraded, position }: Pick<RuntimeReading, 'seen' | 'upgraded' | 'position'>,
  hashing: Hashing,
) {
  const { admins, deletedAdmins, overruledPasswords } = settings
  const { hasher, log } = hashing
  const { layered, hidden } = toLayers(admins)
  await hashIgnored([...overruledPasswords, ...hidden], settings.values, hashing)
  const known = await findHashes(admins, { seen, upgraded, before: NO_HASHES }, hasher)
  const clear = new Map(known.clear)
  const isIgnored = (entry: Entry) => deletedAdmins.includes(entry.name) || findKept(entry, layered) !== undefined
  for (const entry of layered) reportSeen(entry, clear.get(entry.name), isIgnored(entry), log)
  const entries = layered.map((entry) => withHash(entry, known))
  const { plain } = readAdministrators(chooseAdministrators(entries, deletedAdmins), new Map())
  let unchangedSince = position
  for (const entry of plain) {
    const kept = findKept(entry, entries)
    const isSame = kept !== undefined && (await isSamePassword(kept.text, entry.text, hasher))
    const text = isSame ? kept.text : await hashGiven(entry, settings.values, hashing)
    // writing it again would revoke the sessions of that administrator
    if (!isSame)
      unchangedSince = await hashing.runtime.administrators.seedAdministrator(entry.name, text, unchangedSince)
    // afterwards, otherwise the hash would be a change made at run time
    await hashing.runtime.administrators.setSeen(entry.name, text)
    writeBack(entry, text, log)
    clear.set(entry.name, text)
  }
  return { hashes: { ...known, clear }, isWritten: plain.length > 0 }
}

/** Plain-text passwords in ignored lines are hashed too. The hash is written to the file only. */
async function hashIgnored(entries: readonly AdminEntry[], config: Config, { hasher, log }: Hashing): Promise<void> {
  for (const entry of entries.filter(({ text }) => readAdminPassword(text).kind === 'plain'))
    writeBack(entry, renderAdminPassword(await hasher.hash(entry.text, toHashParameters(config))), log)
}

interface KnownHashes extends Pick<RuntimeReading, 'seen' | 'upgraded'> {
  readonly before: FileHashes
}

/**
 * The stored hashes of plain-text passwords that are given. Plain text counts as a change only the first time. If it is
 * read again, from a flag, a variable or a file that was not rewritten, its earlier hash is used: otherwise each start
 * would undo changes made at run time. A hash of another text, made by another node, keeps `before`.
 */
export async function findHashes(
  admins: Settings['admins'],
  { seen, upgraded, before }: KnownHashes,
  hasher: Hasher,
): Promise<FileHashes> {
  const entries = toLayers(admins).layered
  const clear = new Map<string, string>()
  for (const { name, text } of entries.filter(isGivenInClear)) {
    const [own, known] = [before.clear.get(name), seen.get(name)]
    const isKnown = known !== undefined && (known === own || (await isSamePassword(known, text, hasher)))
    const hash = isKnown ? known : own
    if (hash !== undefined) clear.set(name, hash)
  }
  const stored = entries.map((entry) => withHash(entry, { clear, upgraded: NO_HASHES.upgraded }))
  return { clear, upgraded: await findUpgraded(stored, { upgraded, before }, hasher) }
}

/** Which hashes were replaced. The old hash is compared like a password, because only its hash is stored. */
async function findUpgraded(
  entries: readonly Entry[],
  { upgraded, before }: Omit<KnownHashes, 'seen'>,
  hasher: Hasher,
): Promise<FileHashes['upgraded']> {
  const found = new Map<string, string>()
  for (const { name, text } of entries.filter(({ layer }) => layer !== 'run time')) {
    const record = upgraded.get(name)
    if (!record || record.text === text) continue
    const isReplaced = before.upgraded.get(text) === record.text || (await isSamePassword(record.proof, text, hasher))
    if (isReplaced) found.set(text, record.text)
  }
  return found
}

const IGNORED_IN_FILE = 'password of an administrator in a file is ignored: changed or deleted at run time since'
const IGNORED =
  'password of an administrator in a flag, variable or option is ignored: changed or deleted at run time since'

/** Logs whether known plain text is ignored, and tries again to hash it in the file. */
function reportSeen(entry: Entry, hash: string | undefined, isIgnored: boolean, log: Log): void {
  if (hash === undefined || !isGivenInClear(entry)) return
  if (isIgnored) {
    const fields = { name: entry.name, place: renderSource(entry.source) }
    log.warn(entry.source.kind === 'file' ? IGNORED_IN_FILE : IGNORED, fields)
  }
  writeBack(entry, hash, log)
}

interface UpgradedSnapshot extends Pick<RuntimeReading, 'position'> {
  readonly settings: Settings
  readonly fileHashes: FileHashes
  readonly administrators: ReadonlyMap<string, Pick<AdministratorAccount, 'passkeys'>>
}

/**
 * Replaces the hash `from` by a stronger one in the layer that contains it, unless it has changed. It is of the same
 * password, so the passkeys stay: they are written in the same transaction.
 */
export async function upgradeAdministrator(
  { settings, fileHashes, administrators, position: unchangedSince }: UpgradedSnapshot,
  { name, from, to }: { name: string; from: string; to: string },
  { runtime: { administrators: records }, hasher, log }: Hashing,
): Promise<void> {
  const entry = chooseHashed(settings, fileHashes).find((candidate) => candidate.name === name)
  if (entry?.text !== from) return
  const { passkeys } = administrators.get(name) ?? {}
  const kept = passkeys && { unchangedSince, also: [toPasskeyEntry(name, to, passkeys)] }
  if (entry.layer === 'run time') return records.replaceHash(name, to, { unchangedSince, ...kept })
  const proof = renderAdminPassword(await hasher.hash(from, toHashParameters(settings.values)))
  await records.setUpgraded(name, { proof, text: to }, kept)
  // a file that cannot be rewritten keeps the weaker hash, which is no longer used
  const problem = entry.source.kind === 'file' ? rewriteAdmin({ ...entry, text: from }, to) : undefined
  log.info('stored password of an administrator replaced by a stronger one', {
    name,
    ...(problem && { file: problem }),
  })
}

async function isSamePassword(stored: string, password: string, hasher: Hasher): Promise<boolean> {
  const reading = readAdminPassword(stored)
  return reading.kind === 'stored' && (await hasher.verify(reading.password, password, { decoy: NO_DECOY }))
}

async function hashGiven({ name, text, source }: Entry, config: Config, { hasher, log }: Hashing): Promise<string> {
  if ((await checkPassword(toPasswordRules(config), text, [name])) !== undefined) {
    const place = renderSource(source)
    log.warn('password of an administrator does not conform to the rules for passwords', { name, place })
  }
  return renderAdminPassword(await hasher.hash(text, toHashParameters(config)))
}

/** Writes the hash to the file of the entry, if it is of a file. */
function writeBack(entry: AdminEntry, text: string, log: Log): void {
  if (entry.source.kind !== 'file') return
  const problem = rewriteAdmin(entry, text)
  const fields = { name: entry.name, place: renderSource(entry.source) }
  if (problem === undefined) log.info('password of an administrator hashed', fields)
  else log.warn('password of an administrator stays in clear text in its file', { ...fields, reason: problem })
}
