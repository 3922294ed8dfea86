import { nowSeconds } from '../base/clock.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import { findIterations } from '../passwords/hash-policy.ts'
import { readAdminPassword, renderAdminPassword, type StoredPassword } from '../passwords/schemes.ts'
import type { AdministratorAccount } from './administrators.ts'
import { confirmChange } from './confirm-change.ts'
import type { DirectoryParts } from './parts.ts'
import type { SettingChange, SettingOutcome } from './store-port/settings.ts'
import { requireDistinct, requireName, requireReadable } from './users/check-user.ts'
import type { Caller } from './users/new-passwords.ts'
import { toFoldKey } from './users/user-search.ts'
import { NAME_TAKEN } from './users/user-writer.ts'

const SECTION = 'admins'
const MAX_ATTEMPTS = 100
const NO_PASSWORD = 'The password of an administrator must not be empty.'

export interface Administrator {
  readonly name: string
  /** The stored form, as in `[admins]`. */
  readonly text: string
  /** Whether a one-time code is needed with the password. */
  readonly hasTotp?: true
}

/** `stored` is a text in one of the forms of `[admins]` and kept as given; any other text is a `bad_request`. */
export type NewAdministratorPassword = { readonly password: string } | { readonly stored: string }

export interface SetAdministratorOptions extends Caller {
  /** `new`: throws `conflict` if there is an administrator of the name. `existing`: `not_found` if there is none. */
  readonly expected?: 'new' | 'existing'
}

/**
 * Administrators are kept in the run-time layer of the configuration. Every change of one revokes all its sessions;
 * setting its current password again changes nothing.
 */
export function createAdministrators(parts: DirectoryParts) {
  const { administration } = parts
  return {
    listAdministrators: (): readonly Administrator[] => [...administration.accounts().values()].map(toAdministrator),
    isAdministrator: (name: string) => administration.accounts().has(name),
    /** Creates or changes one. Returns the stored form. */
    async setAdministrator(
      name: string,
      password: NewAdministratorPassword,
      options: SetAdministratorOptions = {},
    ): Promise<string> {
      const current = requireSettable(parts, name, options)
      if (!current) await requireNoTwin(parts, name)
      if ('password' in password && password.password === '')
        throw new Refusal('password_refused', { reason: NO_PASSWORD })
      if (current && 'password' in password && (await isCurrent(parts, current, password.password, options)))
        return current.text
      const text = await toStoredText(parts, password, options)
      await writeAdministrator(parts, { name, text }, options)
      return text
    },
    /** Returns the removed stored form. The last administrator cannot be removed: `forbidden`. */
    removeAdministrator: (name: string) => removeAdministrator(parts, name),
  }
}

const toAdministrator = ({ name, text, totp }: AdministratorAccount): Administrator => ({
  name,
  text,
  ...(totp !== undefined && { hasTotp: true }),
})

/** A user of the very name becomes the administrator; one that differs only in case or form could be mistaken for it. */
async function requireNoTwin({ store, settings }: DirectoryParts, name: string): Promise<void> {
  if (!settings().foldsNames) return
  const key = toFoldKey(name)
  const found = await store.searchUsers({ kind: 'fold', from: key, to: key }, { key, name: '' })
  if (found.some(({ record }) => record.kind === 'user' && record.name !== name))
    throw new Refusal('conflict', { reason: NAME_TAKEN })
}

/** The administrator who has this name now, if any. Throws if that is not expected, or if no administrator may have it. */
function requireSettable(parts: DirectoryParts, name: string, { expected }: SetAdministratorOptions) {
  requireName(name)
  const current = parts.administration.accounts().get(name)
  if (current && expected === 'new') throw new Refusal('conflict', { reason: 'An administrator has this name.' })
  if (!current && expected === 'existing') throw new Refusal('not_found')
  if (!current) {
    requireReadable(name)
    requireDistinct(name, parts)
  }
  return current
}

/**
 * Writes an entry of `[admins]`. Returns what `check` has returned just before. If another request has changed an
 * administrator meanwhile, both are called again: of two nodes that each remove one of the last two administrators, the
 * second must see that it removes the last.
 */
async function writeEntry<T>(
  { administration, clock, events }: DirectoryParts,
  name: string,
  check: () => T,
  write: (change: SettingChange) => Promise<SettingOutcome>,
): Promise<T> {
  await confirmChange(events)
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    const checked = check()
    const unchangedSince = administration.position()
    const outcome = await write({ section: SECTION, key: name, nowSeconds: nowSeconds(clock), unchangedSince })
    await administration.refresh()
    if (outcome.kind !== 'conflict') return checked
  }
  throw new Refusal('conflict')
}

async function writeAdministrator(
  parts: DirectoryParts,
  { name, text }: Administrator,
  options: SetAdministratorOptions,
): Promise<void> {
  const { store, revocations, events } = parts
  // while the password was hashed, another request may have created or removed an administrator
  const findBefore = () => requireSettable(parts, name, options)
  const before = await writeEntry(parts, name, findBefore, (change) => store.setSetting({ ...change, text }))
  revocations.notify({ kind: 'account', name })
  events.record(before ? 'administrator.changed' : 'administrator.created', { subject: name })
  events.record('session.revoked', { subject: name, reason: 'administrator created or changed' })
}

async function removeAdministrator(parts: DirectoryParts, name: string): Promise<string> {
  const { store, administration, revocations, events } = parts
  const findRemovable = () => requireRemovable(parts, name)
  const removed = await writeEntry(parts, name, findRemovable, (change) => store.unsetSetting(change))
  // a later administrator of the name begins without a second factor
  await administration.setTotp(name, undefined)
  await store.putRecoveryCodes({ name, version: '' }, [])
  revocations.notify({ kind: 'account', name })
  events.record('administrator.removed', { subject: name })
  events.record('session.revoked', { subject: name, reason: 'administrator removed' })
  return removed
}

/** Whether the administrator has this password already: writing it again would revoke all sessions of the name. */
function isCurrent({ passwords }: DirectoryParts, current: AdministratorAccount, password: string, caller: Caller) {
  passwords.check({ password })
  return passwords.isSame(password, current.password, caller)
}

/** The stored form of an administrator that can be removed because another one remains. */
function requireRemovable({ administration }: DirectoryParts, name: string): string {
  const accounts = administration.accounts()
  const own = accounts.get(name)
  if (!own) throw new Refusal('not_found')
  if (accounts.size === 1) throw new Refusal('forbidden', { reason: 'The last administrator cannot be deleted.' })
  return own.text
}

async function toStoredText(
  { passwords, settings }: DirectoryParts,
  given: NewAdministratorPassword,
  caller: Caller | undefined,
): Promise<string> {
  if ('password' in given) return renderAdminPassword(await passwords.hash(given.password, caller))
  const reading = readAdminPassword(given.stored)
  if (reading.kind === 'stored') {
    requireComputable(reading.password, settings().maxIterations)
    passwords.check({ stored: reading.password })
    return given.stored
  }
  const reason = reading.kind === 'plain' ? 'This is not a stored form of a password.' : reading.reason
  throw badRequest(reason)
}

/** Every password check, of any name, takes as long as the most expensive stored password. */
function requireComputable(password: StoredPassword, max: number): void {
  if ((findIterations(password) ?? 0) <= max) return
  throw badRequest(`The iterations must be at most ${max} (chttpd_auth.max_iterations).`)
}
