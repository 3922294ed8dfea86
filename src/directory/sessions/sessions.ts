import { nowSeconds } from '../../base/clock.ts'
import type { DirectoryParts } from '../parts.ts'
import type { RevocationFeed } from '../revocation.ts'
import { hasProvedFactor } from '../second-factor/factor-proof.ts'
import { generationOf, isExpired, type User } from '../users/user.ts'
import type { CachedUser } from '../users/user-cache.ts'
import { endSession } from './end-session.ts'
import type { EndedSessions } from './ended-sessions.ts'
import {
  createPlainId,
  createProvenId,
  findOpeningTime,
  findPasswordTime,
  type Session,
  type SessionProof,
} from './session.ts'
import type { ForeignToken, SessionDirectory, SessionOpening } from './session-directory.ts'

export function createSessions(parts: DirectoryParts): SessionDirectory & RevocationFeed {
  const { ended, revocations, clock, ownKey } = parts
  return {
    createSession(account, opening = NO_PROOF) {
      const nowMs = clock.nowMs()
      const issuedAt = Math.floor(nowMs / 1000)
      const proof = toProof(opening)
      const id = proof ? createProvenId(account, proof, { nowMs, key: ownKey() }) : createPlainId(nowMs)
      return { id, name: account.name, generation: account.sessionEpoch.generation, issuedAt }
    },
    findPasswordTime: (id, owner) => findPasswordTime(id, owner, ownKey()),
    isOpenedHere: (id, owner, accessToken) => {
      if (accessToken === undefined) return findPasswordTime(id, owner, ownKey()) !== undefined
      return findOpeningTime(id, { owner, proof: { accessToken } }, ownKey()) !== undefined
    },
    hasProvedFactor: (who, account) => hasProvedFactor(who, account, ownKey()),
    isSessionLive: (session) => isSessionLive(parts, session),
    isSessionEnded: ended.has,
    isForeignTokenLive: (token) => isForeignTokenLive(parts, token),
    isForeignTokenKnownLive: (token) => isForeignTokenKnownLive(parts, token),
    endSession: (session) => endSession(parts, session),
    onRevoked: revocations.add,
  }
}

const NO_PROOF: SessionOpening = Object.freeze({ hasPassword: false, hasFactor: false })

const toProof = ({ hasPassword, hasFactor, accessToken }: SessionOpening): SessionProof | undefined => {
  if (hasPassword) return hasFactor ? 'second factor' : 'password'
  return accessToken === undefined ? undefined : { accessToken }
}

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

async function isLiveAsKnown({ ended, findAccount }: DirectoryParts, session: Session): Promise<boolean> {
  // the account first: finding it may load newly ended sessions
  const account = await findAccount(session.name)
  if (!account || isEnded(ended, session.id, session.foreignToken)) return false
  return generationOf(account.sessionEpoch, session.id) === session.generation
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

function isForeignTokenKnownLive(parts: DirectoryParts, token: ForeignToken): boolean {
  const user = parts.tracker.isStale() ? undefined : parts.cache.peek(token.name)
  return user !== undefined && isAfterEpoch(parts, token, user)
}

/** A token of another issuer has no generation, so its time is compared with the time of the session epoch. */
function isAfterEpoch(
  parts: DirectoryParts,
  { name, issuedAt, id, mark }: ForeignToken,
  { record }: CachedUser,
): boolean {
  const { administration, ended, clock } = parts
  if (isEnded(ended, id, mark)) return false
  const isAdministrator = administration.accounts().has(name)
  if (record?.kind === 'user' && !isAdministrator && !isValid(record, nowSeconds(clock))) return false
  const epochSeconds = Math.max(administration.changedAt(name) ?? 0, record?.sessionEpoch.seconds ?? 0)
  if (epochSeconds === 0 || issuedAt === 'now') return true
  // a time in the future does not show when the token was issued, and would outlive every revocation
  return issuedAt !== undefined && issuedAt > epochSeconds && issuedAt <= nowSeconds(clock) + LEEWAY_SECONDS
}

const isValid = (user: User, now: number): boolean => user.isActive && !isExpired(user, now)

/** How far the clock of another issuer may be ahead of ours. */
const LEEWAY_SECONDS = 60
