import { createHash } from 'node:crypto'
import { frame } from '../base/encoding.ts'
import { readAdminPassword } from '../passwords/admin-password.ts'
import type { Account } from './account.ts'
import { ADMIN_ROLE, NO_GRANTS } from './identity.ts'
import { checkName, type SessionEpoch } from './user.ts'

export interface AdministratorText {
  readonly name: string
  /** What `[admins]` holds for the name. */
  readonly text: string
}

export interface AdministratorAccount extends Account, AdministratorText {}

/** The last time a name was made, changed or deleted as an administrator at run time. */
export interface AdministratorChange {
  readonly sequence: number
  readonly seconds: number
}

export type AdministratorChanges = ReadonlyMap<string, AdministratorChange>

export interface AdministratorsReading<T extends AdministratorText> {
  /** Those who can sign in. */
  readonly accounts: ReadonlyMap<string, AdministratorAccount>
  /** Still in clear text: to be hashed before they count. */
  readonly plain: readonly T[]
  /** Refused, each with a reason that quotes nothing of the password. The others are not affected. */
  readonly malformed: readonly { readonly entry: T; readonly reason: string }[]
}

/** Sorts the entries of `[admins]`: one that cannot be right never keeps the others from signing in. */
export function readAdministrators<T extends AdministratorText>(
  entries: readonly T[],
  changes: AdministratorChanges,
): AdministratorsReading<T> {
  const accounts = new Map<string, AdministratorAccount>()
  const plain: T[] = []
  const malformed: { entry: T; reason: string }[] = []
  for (const entry of entries) {
    const flaw = checkName(entry.name)
    const reading = readAdminPassword(entry.text)
    if (flaw) malformed.push({ entry, reason: `this cannot be a name: ${flaw.replaceAll('_', ' ')}` })
    else if (reading.kind === 'plain') plain.push(entry)
    else if (reading.kind === 'malformed') malformed.push({ entry, reason: reading.reason })
    else accounts.set(entry.name, toAccount(entry, reading.password, changes.get(entry.name)))
  }
  return { accounts, plain, malformed }
}

const toAccount = (
  { name, text }: AdministratorText,
  password: Account['password'],
  change: AdministratorChange | undefined,
): AdministratorAccount => ({
  name,
  text,
  roles: Object.freeze([ADMIN_ROLE]),
  isAdmin: true,
  grants: NO_GRANTS,
  password,
  version: createHash('sha256').update(text).digest('base64url'),
  sessionEpoch: toSessionEpoch(text, change),
  tokens: [],
})

/** Above every generation a user can reach, so that a session never passes from one to the other. */
const LOWEST_GENERATION = 2 ** 48

/** Nobody counts the changes of a file, so the generation is drawn from what is in force and when it was written. */
function toSessionEpoch(text: string, { sequence, seconds }: AdministratorChange = NEVER): SessionEpoch {
  const digest = createHash('sha256')
    .update(frame([text, String(sequence)]))
    .digest()
  return { generation: LOWEST_GENERATION + digest.readUIntBE(0, 6), seconds }
}

const NEVER: AdministratorChange = Object.freeze({ sequence: 0, seconds: 0 })

/** Where an entry of `[admins]` was given. */
export type AdministratorLayer = 'file' | 'run time' | 'environment' | 'flag'

export interface LayeredText extends AdministratorText {
  readonly layer: AdministratorLayer
}

/**
 * Which entry counts for each name. Run time wins over files; environment and flags only seed a name nobody has. Clear
 * text in a file is new intent and wins over all, a deletion included.
 */
export function chooseAdministrators<T extends LayeredText>(entries: readonly T[], deleted: readonly string[]): T[] {
  const chosen = new Map<string, T>()
  for (const entry of entries) {
    const rival = chosen.get(entry.name)
    const isIntent = isNewIntent(entry)
    if (!isIntent && deleted.includes(entry.name)) continue
    if (rival === undefined || isIntent || (entry.layer === 'run time' && !isNewIntent(rival)))
      chosen.set(entry.name, entry)
  }
  return [...chosen.values()]
}

const isNewIntent = ({ layer, text }: LayeredText): boolean =>
  layer === 'file' && readAdminPassword(text).kind === 'plain'
