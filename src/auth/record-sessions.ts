// Notes which sessions are opened and used, for lists of sessions.
import { type Clock, nowSeconds } from '../base/clock.ts'
import { isAccount } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { AuthenticatedRequest, Credential, Identity } from '../directory/identity.ts'
import { generationOf } from '../directory/session-epoch.ts'
import type { OpenedCookie, PresentedSession } from '../directory/sessions/session.ts'
import type { SessionUse } from '../directory/sessions/session-directory.ts'
import type { CredentialSource } from './handler.ts'

export interface SessionRecorderDeps {
  readonly directory: Pick<Directory, 'noteSession' | 'noteTokenUse' | 'findSignInTime'>
  /** The door or listener that the sessions belong to. */
  readonly door: string
  /** How long a session cookie is valid after its last use. */
  timeoutSeconds(): number
  readonly clock: Clock
}

type Source = Pick<CredentialSource, 'client' | 'header'>

export type SessionRecorder = ReturnType<typeof createSessionRecorder>

export function createSessionRecorder(deps: SessionRecorderDeps) {
  const { directory, door, clock } = deps
  return {
    /** `accessToken`: the mark of the one it was opened with. */
    onOpened(identity: Identity, cookie: OpenedCookie, source: Source, accessToken?: string): void {
      if (accessToken !== undefined && identity.name !== null) directory.noteTokenUse(identity.name, accessToken)
      const now = nowSeconds(clock)
      const times = { createdAt: now, expiresAt: now + cookie.maxAgeSeconds }
      directory.noteSession(cookie.id, () => toUse(cookie.id, identity, source, { door, ...times }))
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
  return session?.cookie ? renewed : (expiresAt ?? renewed)
}

/** The record of a session that was opened before the server kept records may begin with a later use. */
function findOpeningTime(session: PresentedSession, identity: Identity, deps: SessionRecorderDeps): number {
  const openedAt = isAccount(identity) ? deps.directory.findSignInTime(session.id, identity) : undefined
  return openedAt ?? session.issuedAt ?? nowSeconds(deps.clock)
}
