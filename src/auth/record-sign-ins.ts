// Notes for lists and events: who signed in or failed to, and which sessions are opened and used.
import { createLruCache } from '../base/caches.ts'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { isClientError, Refusal, refusalText } from '../base/errors.ts'
import { type Account, isAccount } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { AuthenticatedRequest, Credential, Identity } from '../directory/identity.ts'
import { generationOf } from '../directory/session-epoch.ts'
import type { OpenedCookie, PresentedSession, SessionUse } from '../directory/sessions/session.ts'
import { checkName } from '../directory/users/names.ts'
import { UNKNOWN_NAME } from '../observe/security-event-table.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { CredentialSource } from './handler.ts'
import type { Attempt, SignIn } from './sign-in.ts'

export interface RecordSignInDeps {
  readonly events: SecurityEvents
  /** Whether a user, active or not, or an administrator has this name. */
  isKnownName(name: string): Promise<boolean>
  /** Called with every accepted password. Never waits. */
  noteSignIn(name: string, peer: string): void
}

/** Notes accepted passwords, and records every rejected one with the reason that the client does not learn. */
export function recordSignIn(signIn: SignIn, deps: RecordSignInDeps): SignIn {
  return async (attempt) => {
    let reason = 'wrong name or password'
    const explain = (why: string): void => {
      reason = why
    }
    try {
      const account = await signIn({ ...attempt, explain })
      if (account) deps.noteSignIn(account.name, attempt.peer)
      else await recordRefusal(reason, attempt, deps)
      return account
    } catch (error) {
      // a failure of Cardea itself says nothing about the credential
      if (error instanceof Refusal && isClientError(error))
        await recordRefusal(error.detail ?? error.message, attempt, deps)
      throw error
    }
  }
}

async function recordRefusal(reason: string, { name, peer, handler }: Attempt, deps: RecordSignInDeps): Promise<void> {
  const isKnown = checkName(name) === undefined && (await deps.isKnownName(name).catch(() => false))
  const subject = isKnown ? name : UNKNOWN_NAME
  deps.events.record('sign-in.refused', { subject, reason, peer: peer || undefined, handler })
}

export type SignInObserver = ReturnType<typeof createSignInObserver>

/** A credential that was used within this time is not recorded again. */
const FIRST_USE_MS = 3_600_000
const MAX_REMEMBERED = 10_000

/** Records the use of credentials that a client sends with every request. */
export function createSignInObserver(events: SecurityEvents, sessions?: SessionRecorder) {
  // the default resolution, 1 ms, starts a timer with nearly every request
  const known = createLruCache<true>(MAX_REMEMBERED, { ttl: FIRST_USE_MS, ttlResolution: 1000 })
  const findKey = createKeyFinder()
  return {
    onAccepted(authenticated: AuthenticatedRequest, source: CredentialSource): void {
      sessions?.onUsed(authenticated, source)
      // recorded when the session or token was issued
      if (authenticated.credential.session) return
      const key = findKey(authenticated, source.client.address)
      if (known.has(key)) return
      events.requireRecording()
      known.set(key, true)
      const { identity, credential } = authenticated
      const subject = identity.name ?? '_superuser'
      events.record('sign-in.accepted', { subject, opened: 'first use', handler: credential.handler, actor: subject })
    },
    onRefused: (reason: string, handler: string): void => events.record('sign-in.refused', { reason, handler }),
  }
}

/** What `toKey` was called with, and its result. */
interface LastKey extends Pick<Credential, 'handler' | 'accessToken' | 'keyVersion'> {
  readonly peer: string
  readonly key: string
}

/**
 * Remembers the last key of each identity: a client usually sends many requests with the same credential. A request with
 * a JWT takes 0.5 µs less (`npm run bench -- gateway-handler`).
 */
function createKeyFinder(): (authenticated: AuthenticatedRequest, peer: string) => string {
  const lastKeys = new WeakMap<Identity, LastKey>()
  return (authenticated, peer) => {
    const { identity, credential } = authenticated
    const last = lastKeys.get(identity)
    const { handler, accessToken, keyVersion } = credential
    const isSame = last?.handler === handler && last.accessToken === accessToken && last.keyVersion === keyVersion
    if (isSame && last.peer === peer) return last.key
    const key = toKey(authenticated, peer)
    lastKeys.set(identity, { handler, accessToken, keyVersion, peer, key })
    return key
  }
}

/**
 * Holds nothing of the credential. A new password changes the session epoch, a new access token has another mark. A JWT
 * or proxy header counts as another one if it claims other roles or was signed with another key: programs send a new
 * token with every request. Names and roles contain no line breaks, so two keys are never the same by accident.
 */
function toKey({ identity, credential }: AuthenticatedRequest, peer: string): string {
  const { name, roles } = identity
  const { handler, accessToken = '', keyVersion = '' } = credential
  const epoch = isAccount(identity) ? identity.sessionEpoch : undefined
  const claimed = epoch ? `${epoch.seconds} ${epoch.generation}` : `${roles.join(',')}\n${keyVersion}`
  return `${handler}\n${peer}\n${name ?? ''}\n${accessToken}\n${claimed}`
}

/** The reason of a refusal for the log. */
export const explainRefusal = (refusal: Refusal): string => refusal.detail ?? refusalText(refusal)

interface SessionRecorderDeps {
  readonly directory: Pick<Directory, 'noteSession' | 'noteTokenUse' | 'findSignInTime'>
  /** The door or listener that the sessions belong to. */
  readonly door: string
  /** How long a session cookie is valid after its last use. */
  timeoutSeconds(): number
  readonly clock: Clock
  /** Called with each account that has opened a session. The reply waits for it. */
  onSignIn(account: Account): Promise<void>
}

type Source = Pick<CredentialSource, 'client' | 'header'>

export type SessionRecorder = ReturnType<typeof createSessionRecorder>

export function createSessionRecorder(deps: SessionRecorderDeps) {
  const { directory, door, clock } = deps
  return {
    /** `accessToken`: the mark of the one it was opened with. */
    async onOpened(identity: Identity, cookie: OpenedCookie, source: Source, accessToken?: string): Promise<void> {
      if (accessToken !== undefined && identity.name !== null) directory.noteTokenUse(identity.name, accessToken)
      const now = nowSeconds(clock)
      const times = { createdAt: now, expiresAt: now + cookie.maxAgeSeconds }
      directory.noteSession(cookie.id, () => toUse(cookie.id, identity, source, { door, ...times }))
      if (isAccount(identity)) await deps.onSignIn(identity)
    },
    /** Notes the session and the access token of a request, if its credential has them. */
    onUsed({ identity, credential }: AuthenticatedRequest, source: Source): void {
      const { session, accessToken } = credential
      if (accessToken !== undefined && identity.name !== null) directory.noteTokenUse(identity.name, accessToken)
      if (!session) return
      directory.noteSession(session.id, () => {
        const createdAt = findOpeningTime(session, identity, deps)
        return toUse(session.id, identity, source, { door, createdAt, expiresAt: toExpiry(credential, deps) })
      })
    },
  }
}

const toUse = (
  id: string,
  identity: Identity,
  source: Source,
  { expiresAt, ...rest }: Pick<SessionUse, 'door' | 'createdAt' | 'expiresAt'>,
): SessionUse => ({
  id,
  name: identity.name ?? '',
  generation: isAccount(identity) ? generationOf(identity.sessionEpoch, id) : undefined,
  ...rest,
  expiresAt: Math.ceil(expiresAt),
  peer: source.client.address,
  userAgent: source.header('user-agent') ?? '',
})

function toExpiry({ session, expiresAt }: Credential, { timeoutSeconds, clock }: SessionRecorderDeps): number {
  const renewed = nowSeconds(clock) + timeoutSeconds()
  return session?.cookie ? Math.min(renewed, expiresAt ?? renewed) : (expiresAt ?? renewed)
}

/** The record of a session that was opened before the server kept records may begin with a later use. */
function findOpeningTime(session: PresentedSession, identity: Identity, deps: SessionRecorderDeps): number {
  const openedAt = isAccount(identity) ? deps.directory.findSignInTime(session.id, identity) : undefined
  return openedAt ?? session.issuedAt ?? nowSeconds(deps.clock)
}
