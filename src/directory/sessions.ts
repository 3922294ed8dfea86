import { nowSeconds } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Knowledge } from './change-tracker.ts'
import type { AccountDirectory, EndingSession, ForeignToken, Session, SessionDirectory } from './directory.ts'
import { type EndAllParts, endAll, removeAccessToken } from './end-all.ts'
import { type EndedSessions, MAX_ENDED_OF_ACCESS_TOKEN, MAX_ENDED_SESSIONS, toTokenCounter } from './ended-sessions.ts'
import { createPasswordId, createPlainId, findPasswordTime } from './session-id.ts'
import type { KnownUser, UserMemory } from './user-memory.ts'

export interface SessionParts extends Pick<AccountDirectory, 'findAccount'>, EndAllParts {
  readonly memory: UserMemory
  readonly knowledge: Knowledge
  readonly ended: EndedSessions
  ownKey(): Uint8Array
}

export function createSessions(parts: SessionParts): SessionDirectory {
  const { ended, listeners, clock, ownKey } = parts
  return {
    createSession(account, { hasPassword } = { hasPassword: false }) {
      const issuedAt = nowSeconds(clock)
      const id = hasPassword ? createPasswordId(account, issuedAt, ownKey()) : createPlainId()
      return { id, name: account.name, generation: account.sessionEpoch.generation, issuedAt }
    },
    findPasswordTime: (id, owner) => findPasswordTime(id, owner, ownKey()),
    isSessionLive: (session) => isSessionLive(parts, session),
    isSessionEnded: ended.has,
    isForeignTokenLive: (token) => isForeignTokenLive(parts, token),
    endSession: (session) => endSession(parts, session),
    onEnded: listeners.add,
  }
}

async function endSession(parts: SessionParts, { accessToken, ...session }: EndingSession): Promise<void> {
  const { id, name } = session
  const { listeners, ended } = parts
  const counter = accessToken === undefined ? name : toTokenCounter(name, accessToken)
  const { sequence, count } = await ended.end({ ...session, name: counter })
  listeners.tell({ kind: 'session', id, name })
  if (accessToken !== undefined) {
    // the owner's own sessions are not to end because of what a holder of the access token does
    if (count > MAX_ENDED_OF_ACCESS_TOKEN) await removeAccessToken(parts, name, accessToken)
    return
  }
  if (count <= MAX_ENDED_SESSIONS) return
  await endAll(parts, name, TOO_MANY)
  // only now: until the epoch holds, the records are what keeps the sessions ended
  await ended.forget(name, sequence)
}

const TOO_MANY = `more than ${MAX_ENDED_SESSIONS} sessions were ended one by one`

/** A session that began elsewhere a moment ago may rest on a change not yet heard of here. */
async function isSessionLive(parts: SessionParts, session: Session): Promise<boolean> {
  if (await isLiveAsKnown(parts, session)) return true
  if (parts.ended.has(session.id) || !isNewerThanKnown(parts, session)) return false
  try {
    await parts.knowledge.catchUp()
  } catch {
    // what is known stands
    return false
  }
  return isLiveAsKnown(parts, session)
}

async function isLiveAsKnown({ ended, findAccount }: SessionParts, session: Session): Promise<boolean> {
  // first the account: finding it may bring news of what has ended
  const account = await findAccount(session.name)
  return !ended.has(session.id) && account?.sessionEpoch.generation === session.generation
}

function isNewerThanKnown({ clock, knowledge }: SessionParts, { issuedAt }: Session): boolean {
  const knownSeconds = Math.floor((clock.nowMs() - knowledge.stalenessMs()) / 1000)
  return issuedAt >= knownSeconds
}

/** What somebody else issued has no generation, so only its time tells whether it is older than what ended. */
function isForeignTokenLive(parts: SessionParts, token: ForeignToken): MaybePromise<boolean> {
  const known = parts.knowledge.isStale() ? undefined : parts.memory.peek(token.name)
  return known ? isYounger(parts, token, known) : lookUp(parts, token)
}

async function lookUp(parts: SessionParts, token: ForeignToken): Promise<boolean> {
  await parts.knowledge.requireFresh()
  return isYounger(parts, token, await parts.memory.find(token.name, 'remember nobody'))
}

function isYounger(parts: SessionParts, { name, issuedAt, id }: ForeignToken, { record }: KnownUser): boolean {
  const { administration, ended, clock } = parts
  if (id !== undefined && ended.has(id)) return false
  const isAdministrator = administration.accounts().has(name)
  if (record?.kind === 'user' && !record.isActive && !isAdministrator) return false
  const from = Math.max(administration.changedAt(name) ?? 0, record?.sessionEpoch.seconds ?? 0)
  if (from === 0 || issuedAt === 'now') return true
  // a time that has not come yet says nothing about when it was issued, and would outlive whatever ends
  return issuedAt !== undefined && issuedAt > from && issuedAt <= nowSeconds(clock) + LEEWAY_SECONDS
}

/** How far the clock of somebody else may be ahead of ours. */
const LEEWAY_SECONDS = 60
