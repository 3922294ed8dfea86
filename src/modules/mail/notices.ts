/**
 * Notices about changes of an account. They follow from the records before and after a write, in its transaction, so no way
 * to change a user can leave one out, and none is sent for a change that was refused.
 *
 * Each has a link "this was not me": the mailbox that was the user's before the change takes the account back, with a new
 * password. It survives every later change for a week, because the thief of an account could make one, except that an
 * administrator sets or removes the address. Its use ends what later changes have sent: the first owner wins.
 */
import { isDeepStrictEqual } from 'node:util'
import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import type { OperationDeps } from '../../dialects/admin-api/operation.ts'
import { idOf } from '../../directory/account.ts'
import { needsFactor } from '../../directory/accounts.ts'
import { type Caller, withCheck } from '../../directory/caller.ts'
import type { NewJob } from '../../directory/store-port/jobs.ts'
import { toAddressKey } from '../../directory/users/address.ts'
import { hasFactor } from '../../directory/users/search-entries.ts'
import { findTotp, isSameTotp, type User, type UserRecord, withField } from '../../directory/users/user.ts'
import { isUsable } from '../../passwords/schemes.ts'
import type { StoreSteps } from '../../store/engine.ts'
import { putJobs } from '../../store/operations/jobs.ts'
import type { UserTurn } from '../../store/operations/users.ts'
import {
  type FreePurpose,
  invalidLink,
  removeLinks,
  requireFreeLink,
  returnLinks,
  spendLink,
} from '../password-links/links.ts'
import type { MessageName } from './messages.ts'
import { removeJobs, toKeyEnd } from './queue.ts'
import { isMailOn, type StoredWith } from './settings.ts'

export const NOTICE_JOB = 'mail.notice'

/** As the payload of a job and the data of its link. */
export interface Notice {
  readonly message: MessageName
  readonly name: string
  /** A later user of the name is another one. */
  readonly id: string
  /** Where it is sent, and what the address of the user is again when the link is used. */
  readonly address: string
  /** The time of the change, in seconds since the epoch. */
  readonly at: number
  /** What was added to the account since then is removed when the link is used. */
  readonly since: number
}

export const TAKE_BACK: FreePurpose = {
  name: 'undo-address',
  page: 'undo-link',
  lifetimeSeconds: 7 * 86_400,
  onUse: ({ name }) => endNotices(name, toKeyEnd(name)),
}

/** The key of a job and of its link: those of one user are in the order of the changes. */
const toKey = (id: string, sequence: number, message: string): string =>
  `${id} ${String(sequence).padStart(16, '0')} ${message}`

/** Returns what brings them back. */
function* endNotices(from: string, to: string): StoreSteps<() => StoreSteps<void>> {
  const jobs = yield* removeJobs(NOTICE_JOB, from, to)
  const links = yield* removeLinks(TAKE_BACK.name, from, to)
  return function* () {
    yield* returnLinks(links)
    yield* putJobs(jobs)
  }
}

export function* addNotices(changes: readonly UserTurn[], settings: () => StoredWith): StoreSteps<void> {
  const jobs: NewJob[] = []
  for (const { after, change, sequence } of changes) {
    if (change?.before?.kind !== 'user') continue
    const id = idOf(change.before)
    if (isTakenAway(change.before, after)) yield* endNotices(`${id} `, toKeyEnd(id))
    else jobs.push(...listNotices(change.before, after, change.at).map((notice) => toJob(notice, sequence)))
  }
  if (jobs.length > 0 && isMailOn(settings())) yield* putJobs(jobs)
}

const toJob = (notice: Notice, sequence: number): NewJob => ({
  kind: NOTICE_JOB,
  key: toKey(notice.id, sequence, notice.message),
  payload: JSON.stringify(notice),
})

/** By an administrator, who may want to keep the owner of the mailbox out. */
const isTakenAway = (before: User, after: UserRecord): after is Exclude<UserRecord, User> =>
  after.kind === 'tombstone' || (!hasSameAddress(before, after) && after.address?.provenBy === undefined)

const keyOf = ({ address }: User): string | undefined => address && toAddressKey(address.text)
const hasSameAddress = (before: User, after: User): boolean => keyOf(before) === keyOf(after)

function listNotices(before: User, after: User, at: number): readonly Notice[] {
  const toNotice = (message: MessageName, address: string | undefined, since = at): readonly Notice[] =>
    address === undefined ? [] : [{ message, name: after.name, id: idOf(after), address, at, since }]
  if (!hasSameAddress(before, after)) {
    const message = after.address?.provenBy === 'undo' ? 'address-restored' : 'address-changed'
    return toNotice(message, before.address?.text)
  }
  const address = after.address?.text
  const added = listAdded(before, after)
  return [
    ...(hasNewPassword(before, after) ? toNotice('password-changed', address) : []),
    ...(losesFactor(before, after) ? toNotice('factor-removed', address) : []),
    ...(added.length > 0 ? toNotice('sign-in-added', address, Math.min(at, ...added)) : []),
  ]
}

/**
 * Whether the user has another password, or a first one. A new hash of the same password ends no session, so the
 * generation of the sessions stays.
 */
const hasNewPassword = (before: User, after: User): boolean =>
  isUsable(after.password) &&
  !isDeepStrictEqual(before.password, after.password) &&
  before.sessionEpoch.generation !== after.sessionEpoch.generation

const losesFactor = (before: User, after: User): boolean =>
  (findTotp(before) !== undefined && !isSameTotp(before, after)) ||
  (before.passkeys ?? []).some(({ id }) => !after.passkeys?.some((other) => other.id === id))

/** The times of access tokens, passkeys and accounts at identity providers that are new, in seconds since the epoch. */
function listAdded(before: User, after: User): readonly number[] {
  const list = ({ multiModel, passkeys = [], links = [] }: User): readonly (readonly [key: string, at: number])[] => [
    ...multiModel.tokens.map(({ digest, createdAt }) => [digest, createdAt] as const),
    ...passkeys.map(({ id, createdAt }) => [id, createdAt] as const),
    ...links.map(({ issuer, subject, linkedAt }) => [JSON.stringify([issuer, subject]), linkedAt] as const),
  ]
  const known = new Set(list(before).map(([key]) => key))
  return list(after).flatMap(([key, at]) => (known.has(key) ? [] : at))
}

/** Throws unless the link of a notice gives the account back. */
export async function requireNotice(deps: OperationDeps, token: string) {
  const { link, data } = await requireFreeLink<Notice>(deps, TAKE_BACK, digestHex('sha256', token))
  const user = await deps.directory.findUser(data.name)
  const requireSame = (found: User) => {
    if (!isSubject(found, data) || deps.directory.isAdministrator(found.name)) throw invalidLink()
  }
  if (!user) throw invalidLink()
  requireSame(user)
  return { link, notice: data, requireSame }
}

/** Whether it is about this user, and not about an earlier one of the name. */
export const isSubject = (user: User, { id }: Pick<Notice, 'id'>): boolean => idOf(user) === id && user.isActive

/** Throws `conflict` if another user has verified the address meanwhile. */
export async function takeBack(
  deps: OperationDeps,
  caller: Caller,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<Notice & Pick<User, 'isActive'>> {
  const { link, notice, requireSame } = await requireNotice(deps, token)
  const use = { link, caller: withCheck(caller, requireSame), onUse: TAKE_BACK.onUse }
  const now = nowSeconds(deps.clock)
  const factorRoles = deps.options().admin['second-factor-roles']
  const needsOne = (user: User) => needsFactor(deps.directory.listRoles(user), factorRoles)
  const change = (user: User) => withoutBypass(user, restore(user, notice, now), needsOne)
  const options = { password: { password }, endsSessions: true, isOwnPassword: true }
  const { isActive } = await spendLink(deps, use, (once) =>
    deps.directory.changeUser(notice.name, once, change, options),
  )
  return { ...notice, isActive }
}

/**
 * Disables a user who has lost the last second factor with this change, although a role needs one. Otherwise a thief of
 * the mailbox could sign in and set up another one. An administrator enables the user again, after finding out whose
 * account it is.
 */
function withoutBypass(before: User, after: User, needsOne: (user: User) => boolean): User {
  const isBypass = hasFactor(before) && !hasFactor(after) && needsOne(after)
  return isBypass ? { ...after, isActive: false } : after
}

/**
 * With the former address, and without passkeys and accounts at providers that were added since the change: access tokens
 * end with the sessions. A one-time code stays: its removal would be a way around it for a person who has only the mailbox.
 */
export function restore(user: User, { address, since }: Pick<Notice, 'address' | 'since'>, now: number): User {
  const isSame = user.address !== undefined && toAddressKey(user.address.text) === toAddressKey(address)
  const restored = isSame
    ? user
    : withField(user, 'address', { text: address, verifiedAt: now, provenBy: 'undo' } as const)
  const keep = <T>(list: readonly T[] = [], at: (each: T) => number) => {
    const kept = list.filter((each) => at(each) < since)
    return kept.length > 0 ? kept : undefined
  }
  const passkeys = keep(user.passkeys, ({ createdAt }) => createdAt)
  const links = keep(user.links, ({ linkedAt }) => linkedAt)
  return withField(withField(restored, 'passkeys', passkeys), 'links', links)
}
