import { createHash } from 'node:crypto'
import { frame } from '../base/encoding.ts'
import { readAdminPassword } from '../passwords/schemes.ts'
import type { Account } from './account.ts'
import { ADMIN_ROLE, NO_GRANTS } from './identity.ts'
import { type KeptSession, LOWEST_OF_ADMINISTRATORS, type SessionEpoch } from './session-epoch.ts'
import { checkName } from './users/names.ts'
import type { Json, Passkey } from './users/user.ts'

export interface AdministratorText {
  readonly name: string
  /** What `[admins]` holds for the name. */
  readonly text: string
}

export interface AdministratorAccount extends Account, AdministratorText {}

/** The last time an administrator was created, changed or deleted at run time, its second factor and its passkeys. */
export interface AdministratorChange {
  readonly sequence: number
  /** The mark of the write. Empty: an earlier version has written it. */
  readonly mark: string
  readonly seconds: number
  readonly totp?: Json
  readonly passkeys?: AdministratorPasskeys | undefined
  /** The session that this change has not ended. */
  readonly kept?: KeptAdministratorSession | undefined
}

export interface KeptAdministratorSession extends KeptSession {
  /** Version of the stored password: another one, which may come from a file, ends the session. */
  readonly version: string
}

export interface AdministratorPasskeys {
  /** Version of the stored password: under another one, which may be that of a later administrator of the name, they are not used. */
  readonly version: string
  readonly list: readonly Passkey[]
}

export type AdministratorChanges = ReadonlyMap<string, AdministratorChange>

/** The section of the store that has the last end of all sessions of each administrator, and which session was kept. */
export const SESSIONS_OF_ADMINISTRATORS = '[admins] sessions'

/** The sections of the store that have the second factor and the passkeys of each administrator, as JSON. */
export const TOTP_OF_ADMINISTRATORS = '[admins] totp'
export const PASSKEYS_OF_ADMINISTRATORS = '[admins] passkeys'

/** An entry of the store. */
export const toPasskeyEntry = (name: string, text: string, list: readonly Passkey[]) => ({
  section: PASSKEYS_OF_ADMINISTRATORS,
  key: name,
  text: JSON.stringify({ version: toTextVersion(text), list } satisfies AdministratorPasskeys),
})

/** Differs for every stored form of a password. */
const toTextVersion = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** The key in the section of sessions that ends the sessions of all administrators. None has this name. */
export const EVERY_ADMINISTRATOR = ''

/** The last change of a name, its own or that of all. */
export function findChange(changes: AdministratorChanges, name: string): AdministratorChange | undefined {
  const own = changes.get(name)
  const ofAll = changes.get(EVERY_ADMINISTRATOR)
  if (!own || !ofAll) return own ?? ofAll
  return {
    ...own,
    mark: own.mark + ofAll.mark,
    seconds: Math.max(own.seconds, ofAll.seconds),
    kept: own.sequence > ofAll.sequence ? own.kept : undefined,
  }
}

export type AdministratorsReading<T extends AdministratorText> = ReturnType<typeof readAdministrators<T>>

/** Classifies the entries of `[admins]`. An invalid entry does not keep the others from signing in. */
export function readAdministrators<T extends AdministratorText>(entries: readonly T[], changes: AdministratorChanges) {
  const accounts = new Map<string, AdministratorAccount>()
  // to be hashed before they can sign in
  const plain: T[] = []
  // each with a reason that does not quote the password
  const malformed: { entry: T; reason: string }[] = []
  for (const entry of entries) {
    const flaw = checkName(entry.name)
    const reading = readAdminPassword(entry.text)
    if (flaw) malformed.push({ entry, reason: `this cannot be a name: ${flaw.replaceAll('_', ' ')}` })
    else if (reading.kind === 'plain') plain.push(entry)
    else if (reading.kind === 'malformed') malformed.push({ entry, reason: reading.reason })
    else accounts.set(entry.name, toAccount(entry, reading.password, findChange(changes, entry.name)))
  }
  return { accounts, plain, malformed }
}

const toAccount = (
  { name, text }: AdministratorText,
  password: Account['password'],
  change: AdministratorChange | undefined,
): AdministratorAccount => {
  const version = toTextVersion(text)
  const { kept, passkeys } = change ?? {}
  return {
    name,
    text,
    roles: Object.freeze([ADMIN_ROLE]),
    isAdmin: true,
    grants: NO_GRANTS,
    password,
    version,
    sessionEpoch: { ...toSessionEpoch(text, change), ...(kept?.version === version && { kept }) },
    totp: change?.totp,
    ...(passkeys?.version === version && passkeys.list.length > 0 && { passkeys: passkeys.list }),
    tokens: [],
  }
}

/**
 * Changes of a file are not counted, so the generation is derived from the current text and its last change at run time.
 * Another history of the store may have the same text at the same sequence, but never the same mark.
 */
function toSessionEpoch(text: string, { sequence, mark, seconds }: AdministratorChange = NO_CHANGE): SessionEpoch {
  const digest = createHash('sha256')
    .update(frame([text, String(sequence), ...(mark === '' ? [] : [mark])]))
    .digest()
  return { generation: LOWEST_OF_ADMINISTRATORS + digest.readUIntBE(0, 6), seconds }
}

export const NO_CHANGE: AdministratorChange = Object.freeze({ sequence: 0, mark: '', seconds: 0 })

/** Where an entry of `[admins]` comes from: files, environment, flags and options of a program, or a change at run time. */
export type AdministratorLayer = 'given' | 'run time'

export interface LayeredText extends AdministratorText {
  readonly layer: AdministratorLayer
}

/**
 * The entry that counts for each name, of at most one in each layer. Run time overrides what is given. Clear text that is
 * given is new and overrides everything, a deletion included.
 */
export function chooseAdministrators<T extends LayeredText>(entries: readonly T[], deleted: readonly string[]): T[] {
  const chosen = new Map<string, T>()
  for (const entry of entries) {
    const rival = chosen.get(entry.name)
    const isNew = isGivenInClear(entry)
    if (!isNew && deleted.includes(entry.name)) continue
    if (rival === undefined || isNew || (entry.layer === 'run time' && !isGivenInClear(rival)))
      chosen.set(entry.name, entry)
  }
  return [...chosen.values()]
}

/** Clear text outside the store. */
export const isGivenInClear = ({ layer, text }: LayeredText): boolean =>
  layer === 'given' && readAdminPassword(text).kind === 'plain'
