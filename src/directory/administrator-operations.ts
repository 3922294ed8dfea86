import { nowSeconds } from '../base/clock.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import { findIterations } from '../passwords/hash-policy.ts'
import { readAdminPassword, renderAdminPassword, type StoredPassword } from '../passwords/schemes.ts'
import {
  type AdministratorAccount,
  PASSKEYS_OF_ADMINISTRATORS,
  TOTP_OF_ADMINISTRATORS,
  toPasskeyEntry,
} from './administrators.ts'
import type { Caller } from './caller.ts'
import type { DirectoryParts } from './parts.ts'
import type { SettingChange, SettingOutcome } from './store-port/settings.ts'
import { readAddress } from './users/address.ts'
import { requireDistinct, requireName, requireReadable } from './users/check-user.ts'
import { requireNoTwin } from './users/user-operations.ts'
import { findAddressOwner } from './users/user-search.ts'
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
  /** How many, if any. */
  readonly passkeys?: number
}

/** `stored` is a text in one of the forms of `[admins]` and kept as given; any other text is a `bad_request`. */
export type NewAdministratorPassword = { readonly password: string } | { readonly stored: string }

export interface SetAdministratorOptions {
  /** `new`: throws `conflict` if there is an administrator of the name. `existing`: `not_found` if there is none. */
  readonly expected?: 'new' | 'existing'
}

/**
 * Administrators are kept in the run-time layer of the configuration. Every change of one revokes all its sessions, and
 * its passkeys, unless it was its own; setting its current password again changes nothing.
 */
export function createAdministrators(parts: DirectoryParts) {
  const { administration } = parts
  return {
    listAdministrators: (): readonly Administrator[] => [...administration.accounts().values()].map(toAdministrator),
    isAdministrator: (name: string) => administration.accounts().has(name),
    /** Creates or changes one. Returns the stored form. */
    async setAdministrator(
      name: string,
      caller: Caller,
      password: NewAdministratorPassword,
      options: SetAdministratorOptions = {},
    ): Promise<string> {
      const current = requireSettable(parts, name, options)
      if (!current) await requireNoTwin(parts, name)
      if (!current) await requireNoOwner(parts, name)
      if ('password' in password && password.password === '')
        throw new Refusal('password_refused', { reason: NO_PASSWORD })
      if (current && 'password' in password && (await isCurrent(parts, current, password.password, caller)))
        return current.text
      const text = await toStoredText(parts, name, password, caller)
      await writeAdministrator(parts, caller, { name, text }, options)
      return text
    },
    /** Returns the removed stored form. The last administrator cannot be removed: `forbidden`. */
    removeAdministrator: (name: string, caller: Caller) => removeAdministrator(parts, name, caller),
  }
}

const toAdministrator = ({ name, text, totp, passkeys }: AdministratorAccount): Administrator => ({
  name,
  text,
  ...(totp !== undefined && { hasTotp: true }),
  ...(passkeys && { passkeys: passkeys.length }),
})

/** Where addresses sign in, the name would win over the address. */
async function requireNoOwner({ store, settings }: DirectoryParts, name: string): Promise<void> {
  const address = settings().addressesSignIn ? readAddress(name) : undefined
  const owner = address && (await findAddressOwner(store, address))
  if (owner && owner.name !== name) throw new Refusal('conflict', { reason: 'Another user has this address.' })
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
  { administration, clock }: DirectoryParts,
  name: string,
  check: () => T,
  write: (change: SettingChange) => Promise<SettingOutcome>,
): Promise<T> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    const checked = check()
    const unchangedSince = administration.position()
    const outcome = await write({ section: SECTION, key: name, nowSeconds: nowSeconds(clock), unchangedSince })
    await administration.refresh()
    if (outcome.kind === 'look-alike') throw new Refusal('conflict', { reason: NAME_TAKEN })
    if (outcome.kind !== 'conflict') return checked
  }
  throw new Refusal('conflict')
}

async function writeAdministrator(
  parts: DirectoryParts,
  caller: Caller,
  { name, text }: Administrator,
  options: SetAdministratorOptions,
): Promise<void> {
  const { revocations, events, administration, settings } = parts
  const { store, confirmed } = await parts.begin(caller)
  // while the password was hashed, another request may have created or removed an administrator, or created a user
  const findBefore = () => requireSettable(parts, name, options)
  const before = await writeEntry(parts, name, findBefore, (change) => {
    const current = administration.accounts().get(name)
    const isDistinct = settings().auth.names === 'folded' && !current
    const kept = confirmed?.identity.name === name ? current?.passkeys : undefined
    return store.setSetting({ ...change, text, isDistinct, ...(kept && { also: [toPasskeyEntry(name, text, kept)] }) })
  })
  revocations.notify({ kind: 'account', name })
  events.record(before ? 'administrator.changed' : 'administrator.created', { subject: name })
  events.record('session.revoked', { subject: name, reason: 'administrator created or changed' })
}

async function removeAdministrator(parts: DirectoryParts, name: string, caller: Caller): Promise<string> {
  const { revocations, events } = parts
  const { store } = await parts.begin(caller)
  const findRemovable = () => requireRemovable(parts, name)
  // a later administrator of the name begins without a second factor and passkeys
  const also = [TOTP_OF_ADMINISTRATORS, PASSKEYS_OF_ADMINISTRATORS].map((section) => ({ section, key: name }))
  const removed = await writeEntry(parts, name, findRemovable, (change) => store.unsetSetting({ ...change, also }))
  await store.putRecoveryCodes({ name, version: '' }, [])
  revocations.notify({ kind: 'account', name })
  events.record('administrator.removed', { subject: name })
  events.record('session.revoked', { subject: name, reason: 'administrator removed' })
  return removed
}

/** Whether the administrator has this password already: writing it again would revoke all sessions of the name. */
async function isCurrent(
  { passwords }: DirectoryParts,
  current: AdministratorAccount,
  password: string,
  caller: Caller,
): Promise<boolean> {
  await passwords.check(current, { password })
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
  name: string,
  given: NewAdministratorPassword,
  caller: Caller,
): Promise<string> {
  if ('password' in given) return renderAdminPassword(await passwords.hashOfAdministrator(name, given.password, caller))
  const reading = readAdminPassword(given.stored)
  if (reading.kind === 'stored') {
    requireComputable(reading.password, settings().chttpd_auth.max_iterations)
    await passwords.check({ name }, { stored: reading.password })
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
