// Brings the administrators of all layers into force: hashes what is in clear, once, and puts the hash where every
// node finds it and, for files, where the clear text stood.
import type { Log } from '../base/log.ts'
import { rewriteAdmin } from '../config/admin-file.ts'
import type { RuntimeLayer } from '../config/runtime.ts'
import { type AdminEntry, renderSource, type Settings } from '../config/settings.ts'
import { chooseAdministrators, type LayeredText, readAdministrators } from '../identity/administrators.ts'
import { readAdminPassword, renderAdminPassword } from '../identity/password/admin-password.ts'
import type { Hasher, HashParameters } from '../identity/password/hasher.ts'
import type { Account } from '../identity/sign-in.ts'

export interface AdministratorNeeds {
  readonly runtime: RuntimeLayer
  readonly hasher: Hasher
  readonly parameters: HashParameters
  readonly log: Log
}

type Entry = AdminEntry & LayeredText

/** The accounts in force, by name. One malformed entry is reported and left out; the others stand. */
export async function enforceAdministrators(
  settings: Settings,
  needs: AdministratorNeeds,
): Promise<ReadonlyMap<string, Account>> {
  const entries = settings.admins.map(toLayered)
  const chosen = chooseAdministrators(entries, settings.deletedAdmins)
  const { plain } = readAdministrators(chosen)
  const hashed = new Map<string, Entry>()
  for (const entry of plain) hashed.set(entry.name, await hashEntry(entry, entries, needs))
  const { accounts, malformed } = readAdministrators(chosen.map((entry) => hashed.get(entry.name) ?? entry))
  for (const { entry, reason } of malformed) {
    needs.log.error('administrator refused', { name: entry.name, place: renderSource(entry.source), reason })
  }
  return accounts
}

function toLayered(entry: AdminEntry): Entry {
  const { kind } = entry.source
  return { ...entry, layer: kind === 'default' ? 'file' : kind }
}

async function hashEntry(entry: Entry, all: readonly Entry[], needs: AdministratorNeeds): Promise<Entry> {
  const kept = all.find(({ name, layer }) => name === entry.name && layer === 'run time')
  const text = kept && (await isSamePassword(kept.text, entry.text, needs)) ? kept.text : await hash(entry.text, needs)
  await needs.runtime.set('admins', entry.name, text)
  if (entry.source.kind === 'file') writeBack(entry, text, needs.log)
  return { ...entry, text }
}

/** Clear text in a file nobody could rewrite: the hash made of it earlier is kept, and with it the salt. */
async function isSamePassword(
  stored: string,
  password: string,
  { hasher, parameters }: AdministratorNeeds,
): Promise<boolean> {
  const reading = readAdminPassword(stored)
  return reading.kind === 'stored' && (await hasher.verify(reading.password, password, parameters))
}

const hash = async (password: string, { hasher, parameters }: AdministratorNeeds): Promise<string> =>
  renderAdminPassword(await hasher.hash(password, parameters))

function writeBack(entry: Entry, text: string, log: Log): void {
  const problem = rewriteAdmin(entry, text)
  const fields = { name: entry.name, place: renderSource(entry.source) }
  if (problem === undefined) log.info('password of an administrator hashed', fields)
  else log.warn('password of an administrator stays in clear text in its file', { ...fields, reason: problem })
}
