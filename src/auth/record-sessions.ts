// Notes which sessions are opened and used, for lists of sessions.
import { type Clock, nowSeconds } from '../base/clock.ts'
import { isAccount } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { AuthenticatedRequest, Credential, Identity } from '../directory/identity.ts'
import type { PresentedSession } from '../directory/sessions/session.ts'
import type { SessionUse } from '../directory/sessions/session-directory.ts'
import { generationOf } from '../directory/users/user.ts'
import type { CredentialSource } from './handler.ts'

export interface SessionRecorderDeps {
  readonly directory: Pick<Directory, 'noteSession' | 'noteTokenUse' | 'findPasswordTime'>
  /** The door or listener that the sessions belong to. */
  readonly door: string
  /** How long a session cookie is valid after its last use. */
  timeoutSeconds(): number
  readonly clock: Clock
}

/** A session that has just been opened. */
export interface NewSession {
  readonly id: string
  readonly identity: Identity
  /** Seconds since the epoch. */
  readonly expiresAt: number
  /** The mark of the access token it was opened with. */
  readonly accessToken?: string | undefined
}

type Source = Pick<CredentialSource, 'client' | 'header'>

export interface SessionRecorder {
  onOpened(session: NewSession, source: Source): void
  /** Notes the session and the access token of a request, if its credential has them. */
  onUsed(authenticated: AuthenticatedRequest, source: Source): void
}

export function createSessionRecorder(deps: SessionRecorderDeps): SessionRecorder {
  const { directory, clock } = deps
  return {
    onOpened(session, source) {
      const { name } = session.identity
      if (session.accessToken !== undefined && name !== null) directory.noteTokenUse(name, session.accessToken)
      directory.noteSession(session.id, () => toUse(session, nowSeconds(clock), { source, door: deps.door }))
    },
    onUsed(authenticated, source) {
      const { identity, credential } = authenticated
      const { session, accessToken } = credential
      if (accessToken !== undefined && identity.name !== null) directory.noteTokenUse(identity.name, accessToken)
      if (!session) return
      directory.noteSession(session.id, () => {
        const used = { id: session.id, identity, expiresAt: toExpiry(credential, deps) }
        return toUse(used, findOpeningTime(session, identity, deps), { source, door: deps.door })
      })
    },
  }
}

interface Use {
  readonly source: Source
  readonly door: string
}

const toUse = ({ id, identity, expiresAt }: NewSession, createdAt: number, { source, door }: Use): SessionUse => ({
  id,
  name: identity.name ?? '',
  generation: isAccount(identity) ? generationOf(identity.sessionEpoch, id) : undefined,
  door,
  createdAt,
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
  const openedAt = isAccount(identity) ? deps.directory.findPasswordTime(session.id, identity) : undefined
  return openedAt ?? session.issuedAt ?? nowSeconds(deps.clock)
}
