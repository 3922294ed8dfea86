/**
 * The secret in a link is stored as a digest and never part of a path: paths are logged. A link ends when it is used, when
 * its time is over, and with the next one for the same purpose. A link to set a password ends with every change of the
 * user, because its creator may not be allowed to manage the changed user.
 */
import { createHash, randomBytes } from 'node:crypto'
import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { CONSOLE_PATH } from '../../base/own-paths.ts'
import type { OperationDeps } from '../../dialects/admin-api/operation.ts'
import { type Caller, type CheckWrite, withConfirm } from '../../directory/caller.ts'
import { findTotp, isExpired, type User, withField } from '../../directory/users/user.ts'
import { type Engine, many, manyKeys, numberOf, one, type Row, type StoreSteps, textOf } from '../../store/engine.ts'
import { requireKey } from '../../store/limits.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import type { UserTurn } from '../../store/operations/users.ts'
import { toStatements } from '../../store/statements.ts'

/** What links of one kind do. */
export interface LinkPurpose {
  readonly name: string
  /** The page of the console that uses it. */
  readonly page: string
  readonly lifetimeSeconds: number
  /** A link is valid only while this stays the same. It detects a change between reading the user and storing the link. */
  toVersion(user: User): string
}

/** A purpose whose owner need not be a user. */
export interface FreePurpose extends Omit<LinkPurpose, 'toVersion'> {
  /** What else ends when a link is used, in the same transaction. Returns what brings it back if the use is refused. */
  onUse?(link: LinkRecord): StoreSteps<Undo>
}

type Undo = () => StoreSteps<void>

export const SET_PASSWORD: LinkPurpose = {
  name: 'password',
  page: 'password-link',
  lifetimeSeconds: 3600,
  toVersion: toPasswordVersion,
}

/**
 * For a forgotten password. 15 minutes: the person is waiting for the message. It does not serve to link an account, leaves
 * passkeys as they are, and ends with the address that it was sent to.
 */
export const RESET_PASSWORD: LinkPurpose = {
  name: 'reset',
  page: 'password-link',
  lifetimeSeconds: 900,
  toVersion: (user) => JSON.stringify([user.address?.text ?? null, toPasswordVersion(user)]),
}

export interface LinkRecord {
  readonly purpose: string
  readonly name: string
  /** The digest of the secret in the link. */
  readonly digest: string
  /** By the purpose. */
  readonly version: string
  /** What else the purpose needs. */
  readonly data: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

const LINK_STATEMENTS = toStatements(
  {
    putLink: `INSERT INTO cardea_links (purpose, name, digest, version, data, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (purpose, name) DO UPDATE SET digest = excluded.digest, version = excluded.version,
        data = excluded.data, expires_at = excluded.expires_at`,
    findLink: 'SELECT purpose, name, digest, version, data, expires_at FROM cardea_links WHERE digest = $1',
    removeLink: 'DELETE FROM cardea_links WHERE digest = $1 RETURNING digest',
    removeLinks: `DELETE FROM cardea_links WHERE purpose = $1 AND name >= $2 AND name < $3
      RETURNING purpose, name, digest, version, data, expires_at`,
    removeLinkOf: `DELETE FROM cardea_links WHERE name = $1 AND purpose = '${SET_PASSWORD.name}' RETURNING digest`,
    returnLink: `INSERT INTO cardea_links (purpose, name, digest, version, data, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    purgeLinks: 'DELETE FROM cardea_links WHERE expires_at <= $1 RETURNING digest',
  },
  'password-links.',
)

export function* removeLinksOf(changes: readonly UserTurn[]): StoreSteps<void> {
  const names = changes.filter(({ kind }) => kind !== 'created').map(({ name }) => name)
  if (names.length > 0) yield manyKeys(LINK_STATEMENTS.removeLinkOf, names)
}

/**
 * Replaces an earlier link of the user for the same purpose, and deletes those that have expired. `isWanted` is asked in
 * the same transaction. Returns whether the link is stored.
 */
export async function putLink(engine: Engine, link: LinkRecord, now: number, isWanted?: IsWanted): Promise<boolean> {
  requireKey(link.name, 'a name')
  return engine.transact(function* (): StoreSteps<boolean> {
    if (isWanted && !(yield* isWanted())) return false
    yield one(LINK_STATEMENTS.purgeLinks, now)
    yield one(LINK_STATEMENTS.putLink, ...toRow(link))
    return true
  })
}

type IsWanted = () => StoreSteps<boolean>

const toRow = ({ purpose, name, digest, version, data, expiresAt }: LinkRecord) =>
  [purpose, name, digest, version, data, expiresAt] as const

export async function findLink(engine: Engine, digest: string): Promise<LinkRecord | undefined> {
  const [row] = await engine.ask(one(LINK_STATEMENTS.findLink, digest))
  return row && readLink(row)
}

const readLink = (row: Row): LinkRecord => ({
  purpose: textOf(row, 'purpose'),
  name: textOf(row, 'name'),
  digest: textOf(row, 'digest'),
  version: textOf(row, 'version'),
  data: textOf(row, 'data'),
  expiresAt: numberOf(row, 'expires_at'),
})

/** Removes the links of one purpose with names from `from` on and before `to`, and returns them. */
export function* removeLinks(purpose: string, from: string, to: string): StoreSteps<readonly LinkRecord[]> {
  return (yield one(LINK_STATEMENTS.removeLinks, purpose, from, to)).map(readLink)
}

/** A link that was made meanwhile stays. */
export function* returnLinks(links: readonly LinkRecord[]): StoreSteps<void> {
  if (links.length > 0) yield many(LINK_STATEMENTS.returnLink, links.map(toRow))
}

/** Returns what brings it back, if it was there: of several requests with the link one gets it. */
const takeLink = (engine: Engine, link: LinkRecord, onUse: FreePurpose['onUse']): Promise<Undo | undefined> =>
  engine.transact(function* (): StoreSteps<Undo | undefined> {
    yield* lockCounters()
    if ((yield one(LINK_STATEMENTS.removeLink, link.digest)).length === 0) return undefined
    const undo = onUse ? yield* onUse(link) : undefined
    return function* () {
      yield* lockCounters()
      yield* returnLinks([link])
      if (undo) yield* undo()
    }
  })

interface LinkUse {
  readonly link: LinkRecord
  readonly caller: Caller
  readonly onUse?: FreePurpose['onUse']
}

/**
 * Every use of a link: runs its write, and takes the link directly before. If the write is refused, for example because of
 * the new password, the link stays valid.
 */
export async function spendLink<T>(
  { statements }: Pick<OperationDeps, 'statements'>,
  { link, caller, onUse }: LinkUse,
  write: (caller: Caller) => Promise<T>,
): Promise<T> {
  let undo: Undo | undefined
  const confirm = async () => {
    undo ??= await takeLink(statements, link, onUse)
    if (!undo) throw invalidLink()
    return caller.confirm()
  }
  try {
    return await write(withConfirm(caller, confirm))
  } catch (error) {
    // after another failure the write may have happened
    if (undo && error instanceof Refusal && error.code !== 'store_unavailable') await statements.transact(undo)
    throw error
  }
}

const TOKEN_BYTES = 32

/** Begins with `console.public-url`. Without it a link is a path: the host that a request names may be that of an attacker. */
export async function createLink(deps: CreatingDeps, purpose: LinkPurpose, user: User): Promise<NewLink> {
  const owner = { name: user.name, version: purpose.toVersion(user), data: '' }
  const link = await createLinkFor(deps, purpose, owner)
  if (!link) throw new TypeError('A link without a condition is always stored')
  return link
}

export interface NewLink {
  readonly url: string
  readonly token: string
  readonly expiresAt: number
}

type CreatingDeps = Pick<OperationDeps, 'statements' | 'clock' | 'publicUrl'>

interface LinkOwner extends Pick<LinkRecord, 'name' | 'data'> {
  readonly version?: string
  /** From when on its time counts, in seconds since the epoch. Left out: from now on. */
  readonly from?: number
}

/** `name`: whose link it is, which need not be a user yet. `undefined`: it was not wanted any more. */
export async function createLinkFor(
  { statements, clock, publicUrl }: CreatingDeps,
  { name: purpose, page, lifetimeSeconds }: FreePurpose,
  { from = nowSeconds(clock), version = '', ...owner }: LinkOwner,
  isWanted?: IsWanted,
): Promise<NewLink | undefined> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const expiresAt = from + lifetimeSeconds
  const link = { ...owner, version, purpose, digest: digestHex('sha256', token), expiresAt }
  if (!(await putLink(statements, link, nowSeconds(clock.purge), isWanted))) return undefined
  return { url: `${publicUrl()}${CONSOLE_PATH}#/${page}/${token}`, token, expiresAt }
}

/** The account that is linked would sign in without the second factor of the user. */
export const canLinkAccount = (user: User): boolean => findTotp(user) === undefined

/** The link of an administrator is the way back from a thief, however it is used. */
export const withoutPasskeys = (user: User): User => withField(user, 'passkeys', undefined)

/** Every link that is not valid gets one and the same error, so that it does not reveal whether it ever was. */
export async function requireLink(deps: CheckingDeps, purposes: readonly LinkPurpose[], digest: string) {
  const link = await findLink(deps.statements, digest)
  const purpose = purposes.find(({ name }) => name === link?.purpose)
  const user = link && purpose ? await deps.directory.findUser(link.name) : undefined
  if (!link || !purpose || !user) throw invalidLink()
  const isUnchanged = createUnchangedCheck(deps, purpose, link)
  isUnchanged(user, user)
  return { link, user, purpose, isUnchanged }
}

export type CheckingDeps = Pick<OperationDeps, 'statements' | 'clock'> & {
  readonly directory: Pick<OperationDeps['directory'], 'findUser' | 'isAdministrator'>
}

/** A link whose owner need not be a user, and its data as its module has written it. */
export async function requireFreeLink<T>(
  { statements, clock }: Pick<OperationDeps, 'statements' | 'clock'>,
  { name }: FreePurpose,
  digest: string,
): Promise<{ readonly link: LinkRecord; readonly data: T }> {
  const link = await findLink(statements, digest)
  if (link?.purpose !== name || link.expiresAt <= nowSeconds(clock)) throw invalidLink()
  return { link, data: JSON.parse(link.data) as T }
}

/** Its text must not show whether the link ever was valid. */
export const invalidLink = (): Refusal => new Refusal('not_found', { reason: INVALID })

const INVALID = 'This link is not valid. It may have been used or have expired; ask for a new one.'

/**
 * If two requests use a link at the same time, the second finds a changed user and is rejected. While the password was
 * hashed, the user may have become an administrator.
 */
const createUnchangedCheck =
  ({ directory, clock }: Omit<CheckingDeps, 'statements'>, { toVersion }: LinkPurpose, link: LinkRecord): CheckWrite =>
  (user) => {
    const now = nowSeconds(clock)
    const isCurrent = link.expiresAt > now && link.version === toVersion(user) && user.isActive && !isExpired(user, now)
    if (!isCurrent || directory.isAdministrator(user.name)) throw invalidLink()
  }

/** A digest of the password, the rights and the state of the user. */
function toPasswordVersion({ password, sessionEpoch, expiresAt, document, multiModel, links = [] }: User): string {
  const grants = [...multiModel.grants].map(([name, { level, collections }]) => [name, level ?? null, [...collections]])
  return createHash('sha256')
    .update(JSON.stringify([password, document.roles, grants, expiresAt ?? null, sessionEpoch.generation, ...links]))
    .digest('hex')
}
