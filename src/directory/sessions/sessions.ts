import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import { isTokenActive, toTokenMark } from '../access-token.ts'
import { type Account, withGivenRoles } from '../account.ts'
import { isValid, needsFactor } from '../accounts.ts'
import type { Revocation } from '../deps.ts'
import { type Authenticated, withoutFactorSetup } from '../identity.ts'
import type { DirectoryParts } from '../parts.ts'
import { hasProvedFactor } from '../password-proof.ts'
import { generationOf } from '../session-epoch.ts'
import type { EndedSession } from '../store-port/sessions.ts'
import { type AccessToken, findGivenRoles } from '../users/user.ts'
import type { CachedUser } from '../users/user-cache.ts'
import type { EndedReader } from '../writes.ts'
import { endSession, findCurrent, replaceSession } from './end-session.ts'
import { toTokenCounter } from './ended-sessions.ts'
import {
  createPlainId,
  createProvenId,
  type EndingSession,
  type ExternalOpening,
  type ForeignToken,
  findExternalOpening,
  findOpeningTime,
  findPasswordTime,
  findSignInTime,
  provesFactor,
  readOpeningTime,
  type Session,
  type SessionOpening,
  type SessionOwner,
  type SessionProof,
} from './session.ts'

export type SessionDirectory = ReturnType<typeof createSessions>

export function createSessions(parts: DirectoryParts) {
  const { ended, revocations, clock, ownKey } = parts
  return {
    /** Takes the account that signed in, not its name: if the password has changed since, the session is revoked already. */
    createSession(account: Account, opening = NO_PROOF): Session {
      const nowMs = clock.nowMs()
      const issuedAt = Math.floor(nowMs / 1000)
      const proof = toProof(opening)
      const id = proof ? createProvenId(account, proof, nowMs, ownKey()) : createPlainId(nowMs)
      return { id, name: account.name, generation: account.sessionEpoch.generation, issuedAt }
    },
    /** When the session was opened with the password, in seconds; `undefined`: it was not. Does not check if it is live. */
    findPasswordTime: (id: string, owner: SessionOwner) => findPasswordTime(id, owner, ownKey()),
    /** When its user signed in, in any way, in seconds; `undefined`: the id does not prove it. */
    findSignInTime: (id: string, owner: SessionOwner) => findSignInTime(id, owner, ownKey()),
    /** Whether a passkey opened the session, without the password. Does not check if it is live. */
    isPasskeySession: (id: string, owner: SessionOwner) =>
      findOpeningTime(id, owner, 'passkey', ownKey()) !== undefined,
    /** The sign-in with an external account that opened the session; `undefined`: the id does not prove one. */
    findExternalOpening: (id: string, owner: SessionOwner) => findExternalOpening(id, owner, ownKey()),
    /**
     * The account as its session acts. In one that an external account opened it has the roles which that account gives,
     * and if its issuer has asked for a second factor, none needs to be set up here.
     */
    toActing(account: Account, id: string): Account {
      const opening = findExternalOpening(id, account, ownKey())
      if (!opening) return account
      return toOpened(parts, opening.hasFactor ? withoutFactorSetup(account) : account, opening)
    },
    /**
     * Whether the id proves that the session was opened here: with the access token of this mark, or without one by a
     * sign-in. A program that knows the secret of the tokens can make up ids, but no proof.
     */
    isOpenedHere(id: string, owner: SessionOwner, accessToken: string | undefined): boolean {
      if (accessToken === undefined) return findSignInTime(id, owner, ownKey()) !== undefined
      return findOpeningTime(id, owner, { accessToken }, ownKey()) !== undefined
    },
    /** The access token that opened the session, and when; `undefined`: none that is valid now. */
    findTokenOpening: (id: string, account: Account) => findTokenOpening(parts, id, account),
    /** Whether the session of the request has proved the second factor that this state of its account has. */
    hasProvedFactor: (who: Authenticated, account: Account) => hasProvedFactor(who, account, ownKey()),
    /** Also for a renewed session. A removed or inactive account has no live session. */
    isSessionLive: (session: Session) => isSessionLive(parts, session),
    /** Whether this node knows that this session, or all sessions of the token with this mark, were ended. */
    isSessionEnded: ended.has,
    /**
     * Whether a request with the cookie of this session is no longer accepted: it was ended, or lacks a second factor that
     * its user needs by now. `isRunning`: the request was accepted before, and is checked again.
     */
    isSessionOver: (id: string, account: Account, isRunning: boolean): boolean =>
      isOver(parts, id, isRunning) || isWithoutFactor(parts, id, account),
    /** The session that has taken the place of this one, at last; otherwise itself. */
    findCurrentSession: (id: string): string => findCurrent(ended, id),
    /** Whether the session epoch of the name allows the token. An unknown name has no epoch and allows all. */
    isForeignTokenLive: (token: ForeignToken) => isForeignTokenLive(parts, token),
    /** Whether the cache shows that it is live; `false`: ask `isForeignTokenLive`. */
    isForeignTokenKnownLive: (token: ForeignToken) => peekLive(parts, token) !== undefined,
    /** The account of its name, if the cache shows that the token is live; `undefined`: ask for both. */
    peekTokenAccount(token: ForeignToken): Account | undefined {
      const user = peekLive(parts, token)
      return user && parts.toAccount(token.name, user)
    },
    /** `expiresAt`, if given, counts the renewals of running requests. */
    endSession: (session: EndingSession) => endSession(parts, session),
    /** Puts a new session of the same user in the place of this one. */
    replaceSession: (session: EndingSession & EndedSession, successor: string) =>
      replaceSession(parts, session, successor),
    /**
     * Whether this value is used for the first time, on any node. Each use is an ended session under the name of the value;
     * the store counts them, and forgets them when the value expires.
     */
    useOnce: async (value: string, expiresAt: number): Promise<boolean> =>
      (
        await parts
          .beginUnasked('sign-in')
          .ended.end({ id: createPlainId(clock.nowMs()), name: toUseCounter(value), expiresAt })
      ).count === 1,
    /** Whether this node knows a use of the value. */
    isUsed: (value: string): boolean => ended.count(toUseCounter(value)) > 0,
    /** Calls the listener after the fact, immediately for changes of this process. Returns a function that removes it. */
    onRevoked: (listener: (revocation: Revocation) => void) => revocations.add(listener),
  }
}

export interface AccessTokenOpening {
  readonly token: AccessToken
  /** In seconds. */
  readonly openedAt: number
}

function findTokenOpening(
  { clock, ownKey }: DirectoryParts,
  id: string,
  account: Account,
): AccessTokenOpening | undefined {
  for (const token of account.tokens) {
    const openedAt = findOpeningTime(id, account, { accessToken: toTokenMark(token) }, ownKey())
    if (openedAt !== undefined)
      return isTokenActive(token, account, nowSeconds(clock)) ? { token, openedAt } : undefined
  }
  return undefined
}

const NO_PROOF: SessionOpening = Object.freeze({ hasPassword: false, hasFactor: false })

function toProof(opening: SessionOpening): SessionProof | undefined {
  const { hasPassword, hasFactor, isPasskey, external, accessToken } = opening
  if (hasPassword) return hasFactor ? 'second factor' : 'password'
  if (isPasskey) return 'passkey'
  if (external) return { account: external.account, hasFactor, isFresh: external.isFresh }
  if (accessToken !== undefined) return { accessToken }
  return hasFactor ? 'factor' : undefined
}

const toUseCounter = (value: string): string => toTokenCounter('', digestHex('sha256', value))

const toOpened = ({ settings }: DirectoryParts, account: Account, { link }: ExternalOpening): Account =>
  withGivenRoles(account, (link && findGivenRoles(link, settings().roleIssuers)) ?? [])

/** A session opened on another node a moment ago may depend on a change that is not known here yet. */
async function isSessionLive(parts: DirectoryParts, session: Session): Promise<boolean> {
  if (await isLiveAsKnown(parts, session)) return true
  if (isEnded(parts.ended, session.id, session.foreignToken) || !isNewerThanKnown(parts, session)) return false
  try {
    await parts.tracker.catchUp()
  } catch {
    return false
  }
  return isLiveAsKnown(parts, session)
}

async function isLiveAsKnown(parts: DirectoryParts, session: Session): Promise<boolean> {
  const { ended, findAccount } = parts
  // the account first: finding it may load newly ended sessions
  const account = await findAccount(session.name)
  if (!account || isEnded(ended, session.id, session.foreignToken)) return false
  if (isWithoutFactor(parts, session.id, account)) return false
  return generationOf(account.sessionEpoch, session.id) === session.generation
}

/**
 * Whether a role of the user needs a second factor, and an issuer that asked for none, or the password before the user had
 * a passkey, opened the session. Without a passkey, a session of the password can do nothing else than set one up.
 */
function isWithoutFactor(parts: DirectoryParts, id: string, owner: Account): boolean {
  const factorRoles = parts.settings().admin['second-factor-roles']
  if (factorRoles.length === 0) return false
  const opening = findExternalOpening(id, owner, parts.ownKey())
  if (opening) return !opening.hasFactor && needsFactor(toOpened(parts, owner, opening).roles, factorRoles)
  if (!owner.needsPasskey || provesFactor(id, owner, parts.ownKey())) return false
  return findTokenOpening(parts, id, owner) === undefined
}

const isEnded = (ended: EndedReader, ...ids: readonly (string | undefined)[]): boolean =>
  ids.some((id) => id !== undefined && ended.has(id))

/**
 * How long the cookie of a replaced session is accepted. A client that signs in again, as programs with a cookie jar do
 * every few minutes, may have sent other requests before it received the new cookie.
 */
const GRACE_SECONDS = 10

/** A replaced session goes on under the one in its place: for a running request as long as that one does. */
function isOver({ ended, clock }: DirectoryParts, id: string, isRunning = false): boolean {
  const successor = ended.findSuccessor(id)
  if (successor === undefined) return ended.has(id)
  const isLate = nowSeconds(clock) >= readOpeningTime(successor) + GRACE_SECONDS
  return (isLate && !isRunning) || ended.has(findCurrent(ended, successor))
}

function isNewerThanKnown({ clock, tracker }: DirectoryParts, { issuedAt }: Session): boolean {
  const knownSeconds = Math.floor((clock.nowMs() - tracker.stalenessMs()) / 1000)
  return issuedAt >= knownSeconds
}

async function isForeignTokenLive(parts: DirectoryParts, token: ForeignToken): Promise<boolean> {
  const { tracker, cache } = parts
  if (tracker.isStale()) await tracker.requireFresh()
  parts.requireCurrent(token.name)
  return isAfterEpoch(parts, token, cache.peek(token.name) ?? (await cache.find(token.name, 'cache unknown')))
}

function peekLive(parts: DirectoryParts, token: ForeignToken): CachedUser | undefined {
  const user = parts.peekUser(token.name)
  return user && isAfterEpoch(parts, token, user) ? user : undefined
}

/** A token of another issuer has no generation, so its time is compared with the time of the session epoch. */
function isAfterEpoch(parts: DirectoryParts, token: ForeignToken, { record }: CachedUser) {
  const { administration, ended, clock } = parts
  const { name, issuedAt, id, mark, isRunning, leewaySeconds = LEEWAY_SECONDS } = token
  if ((id !== undefined && isOver(parts, id, isRunning)) || isEnded(ended, mark)) return false
  const isAdministrator = administration.accounts().has(name)
  const maySignIn = record?.kind !== 'user' || (record.isActive && !record.isWithheld && isValid(record, clock))
  if (!maySignIn && !isAdministrator) return false
  const epochSeconds = Math.max(administration.changedAt(name) ?? 0, record?.sessionEpoch.seconds ?? 0)
  if (epochSeconds === 0 || issuedAt === 'now') return true
  if (issuedAt === undefined) return false
  // a time in the future does not show when the token was issued, and would outlive every revocation
  return issuedAt > epochSeconds + leewaySeconds && issuedAt <= nowSeconds(clock) + leewaySeconds
}

/** How far the clock of another issuer may be ahead of ours. For so long after a revocation its new tokens are refused. */
const LEEWAY_SECONDS = 60
