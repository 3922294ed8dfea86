import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import { isTokenActive, toTokenMark, withoutToken } from '../access-token.ts'
import { type Account, withGivenRoles } from '../account.ts'
import { isValid, needsFactor } from '../accounts.ts'
import type { Revocation } from '../deps.ts'
import { type Authenticated, withoutFactorSetup } from '../identity.ts'
import type { DirectoryParts } from '../parts.ts'
import { hasProvedFactor } from '../password-proof.ts'
import { endSessions, generationOf, startSessions } from '../session-epoch.ts'
import type { Stored } from '../store-port/users.ts'
import { applyUpdate, nextRevision } from '../users/revisions.ts'
import { type AccessToken, findGivenRoles, type User, type UserRecord } from '../users/user.ts'
import type { CachedUser } from '../users/user-cache.ts'
import { recordUserChange } from '../users/user-events.ts'
import { type EndedSessions, MAX_ENDED_OF_TOKEN, MAX_ENDED_SESSIONS, toTokenCounter } from './ended-sessions.ts'
import {
  createPlainId,
  createProvenId,
  type EndingSession,
  type ForeignToken,
  findOpeningTime,
  findPasswordTime,
  findProvidedSignIn,
  findSignInTime,
  type ProvidedSignIn,
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
    /** When its user signed in, with the password or at a provider, in seconds; `undefined`: the id does not prove it. */
    findSignInTime: (id: string, owner: SessionOwner) => findSignInTime(id, owner, ownKey()),
    /** The sign-in at an identity provider that opened the session; `undefined`: the id does not prove one. */
    findProvidedSignIn: (id: string, owner: SessionOwner) => findProvidedSignIn(id, owner, ownKey()),
    /**
     * The account as its session acts. In one that a provider opened it has the roles that the provider gives that external
     * account, and if the provider has asked for a second factor, none needs to be set up here.
     */
    toActing(account: Account, id: string): Account {
      const provided = findProvidedSignIn(id, account, ownKey())
      if (!provided) return account
      return toProvided(parts, provided.hasFactor ? withoutFactorSetup(account) : account, provided)
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
    /** The same, and whether it lacks a second factor that its user needs by now. */
    isSessionOver: (id: string, account: Account): boolean => isEnded(ended, id) || isWithoutFactor(parts, id, account),
    /** Whether the session epoch of the name allows the token. An unknown name has no epoch and allows all. */
    isForeignTokenLive: (token: ForeignToken) => isForeignTokenLive(parts, token),
    /** Whether the cache shows that it is live; `false`: ask `isForeignTokenLive`. */
    isForeignTokenKnownLive: (token: ForeignToken) => peekLive(parts, token) !== undefined,
    /** The account of its name, if the cache shows that the token is live; `undefined`: ask for both. */
    peekTokenAccount(token: ForeignToken): Account | undefined {
      const user = peekLive(parts, token)
      return user && parts.toAccount(token.name, user)
    },
    /** `expiresAt`: from then on no copy would be accepted anyway, renewals included. */
    endSession: (session: EndingSession) => endSession(parts, session),
    /**
     * Whether this value is used for the first time, on any node. Each use is an ended session under the name of the value;
     * the store counts them, and forgets them when the value expires.
     */
    useOnce: async (value: string, expiresAt: number): Promise<boolean> =>
      (await ended.end({ id: createPlainId(clock.nowMs()), name: toUseCounter(value), expiresAt })).count === 1,
    /** Whether this node knows a use of the value. */
    isUsed: (value: string): boolean => ended.count(toUseCounter(value)) > 0,
    /** Calls the listener after the fact, immediately for changes of this process. Returns a function that removes it. */
    onRevoked: (listener: (revocation: Revocation) => void) => revocations.add(listener),
  }
}

export interface TokenOpening {
  readonly token: AccessToken
  /** In seconds. */
  readonly openedAt: number
}

function findTokenOpening({ clock, ownKey }: DirectoryParts, id: string, account: Account): TokenOpening | undefined {
  for (const token of account.tokens) {
    const openedAt = findOpeningTime(id, account, { accessToken: toTokenMark(token) }, ownKey())
    if (openedAt !== undefined)
      return isTokenActive(token, account, nowSeconds(clock)) ? { token, openedAt } : undefined
  }
  return undefined
}

const NO_PROOF: SessionOpening = Object.freeze({ hasPassword: false, hasFactor: false })

const toProof = ({ hasPassword, hasFactor, provider, accessToken }: SessionOpening): SessionProof | undefined => {
  if (hasPassword) return hasFactor ? 'second factor' : 'password'
  if (provider) return { account: provider.account, hasFactor }
  return accessToken === undefined ? undefined : { accessToken }
}

const toUseCounter = (value: string): string => toTokenCounter('', digestHex('sha256', value))

const toProvided = ({ settings }: DirectoryParts, account: Account, { link }: ProvidedSignIn): Account =>
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
 * Whether a provider that asked for no second factor has signed the user in, and a role of the user needs one. A session
 * opened with the password has it, or can do nothing else than set it up.
 */
function isWithoutFactor(parts: DirectoryParts, id: string, owner: Account): boolean {
  const { factorRoles } = parts.settings()
  if (factorRoles.length === 0) return false
  const provided = findProvidedSignIn(id, owner, parts.ownKey())
  return provided?.hasFactor === false && needsFactor(toProvided(parts, owner, provided).roles, factorRoles)
}

const isEnded = (ended: EndedSessions, ...ids: readonly (string | undefined)[]): boolean =>
  ids.some((id) => id !== undefined && ended.has(id))

function isNewerThanKnown({ clock, tracker }: DirectoryParts, { issuedAt }: Session): boolean {
  const knownSeconds = Math.floor((clock.nowMs() - tracker.stalenessMs()) / 1000)
  return issuedAt >= knownSeconds
}

async function isForeignTokenLive(parts: DirectoryParts, token: ForeignToken): Promise<boolean> {
  const { tracker, cache } = parts
  if (tracker.isStale()) await tracker.requireFresh()
  return isAfterEpoch(parts, token, cache.peek(token.name) ?? (await cache.find(token.name, 'cache unknown')))
}

function peekLive(parts: DirectoryParts, token: ForeignToken): CachedUser | undefined {
  const user = parts.peekUser(token.name)
  return user && isAfterEpoch(parts, token, user) ? user : undefined
}

/** A token of another issuer has no generation, so its time is compared with the time of the session epoch. */
function isAfterEpoch(parts: DirectoryParts, token: ForeignToken, { record }: CachedUser) {
  const { administration, ended, clock } = parts
  const { name, issuedAt, id, mark, leewaySeconds = LEEWAY_SECONDS } = token
  if (isEnded(ended, id, mark)) return false
  const isAdministrator = administration.accounts().has(name)
  if (record?.kind === 'user' && !isAdministrator && !(record.isActive && isValid(record, clock))) return false
  const epochSeconds = Math.max(administration.changedAt(name) ?? 0, record?.sessionEpoch.seconds ?? 0)
  if (epochSeconds === 0 || issuedAt === 'now') return true
  if (issuedAt === undefined) return false
  // a time in the future does not show when the token was issued, and would outlive every revocation
  return issuedAt > epochSeconds + leewaySeconds && issuedAt <= nowSeconds(clock) + leewaySeconds
}

/** How far the clock of another issuer may be ahead of ours. For so long after a revocation its new tokens are refused. */
const LEEWAY_SECONDS = 60

const TOO_MANY = `more than ${MAX_ENDED_SESSIONS} sessions were ended one by one`
const TOO_MANY_OF_TOKEN = `more than ${MAX_ENDED_OF_TOKEN} sessions of one token were ended one by one`

async function endSession(parts: DirectoryParts, session: EndingSession): Promise<void> {
  const { id, name, expiresAt, accessToken, foreignToken } = session
  const mark = accessToken ?? foreignToken
  const counter = mark === undefined ? name : toTokenCounter(name, mark)
  const { sequence, count } = await parts.ended.end({ id, name: counter, expiresAt })
  parts.revocations.notify({ kind: 'session', id, name })
  // a client with a token must not be able to end the owner's other sessions
  if (count <= (mark === undefined ? MAX_ENDED_SESSIONS : MAX_ENDED_OF_TOKEN)) return
  if (accessToken !== undefined) return removeAccessToken(parts, name, accessToken)
  if (foreignToken === undefined) await raiseSessionEpoch(parts, name)
  else await endForeignToken(parts, session, foreignToken)
  // only now: until then, only the records keep the sessions ended
  await parts.ended.forget(counter, sequence)
}

/** Ends all sessions that were opened with a token of another issuer, by one record with its mark. */
async function endForeignToken(parts: DirectoryParts, session: EndingSession, mark: string): Promise<void> {
  const { name, expiresAt } = session
  await parts.ended.end({ id: mark, name: toTokenCounter(name, mark), expiresAt })
  parts.revocations.notify({ kind: 'account', name })
  parts.events.record('session.revoked', { subject: name, reason: TOO_MANY_OF_TOKEN })
}

/** Revokes all sessions and tokens of a user, of an administrator or of a name in tokens of other issuers. */
async function raiseSessionEpoch(parts: DirectoryParts, name: string): Promise<void> {
  const { administration, clock, writeRecord, revocations, events } = parts
  if (administration.accounts().has(name)) await administration.endSessions(name)
  else await writeRecord(name, (stored) => withRaisedEpoch(name, stored, nowSeconds(clock)))
  revocations.notify({ kind: 'account', name })
  events.record('session.revoked', { subject: name, reason: TOO_MANY })
}

function withRaisedEpoch(name: string, stored: Stored | undefined, now: number): UserRecord {
  if (stored) return { ...stored.record, sessionEpoch: endSessions(stored.record.sessionEpoch, now) }
  // only tokens of other issuers have this name: a tombstone holds its session epoch
  const revision = nextRevision(undefined, ['deleted', name])
  return { kind: 'tombstone', name, revision, sessionEpoch: endSessions(startSessions(), now) }
}

/** Removes an access token. Only the sessions opened with it are revoked. */
async function removeAccessToken(parts: DirectoryParts, name: string, mark: string): Promise<void> {
  const { clock, writeRecord, revocations, events } = parts
  let before: User | undefined
  const after = await writeRecord(name, (stored) => {
    before = stored?.record.kind === 'user' ? stored.record : undefined
    const after = before && withoutToken(before, (token) => toTokenMark(token) === mark)
    return before && after && applyUpdate(before, after, { nowSeconds: nowSeconds(clock) })
  })
  if (!after) return
  revocations.notify({ kind: 'account', name })
  recordUserChange(events, before, after)
}
