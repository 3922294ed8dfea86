// Sessions of browsers at /_cardea/. Their cookie is signed like that of the document door, with a purpose of its own.
import { createHmac } from 'node:crypto'
import type { Account } from '../../directory/account.ts'
import type { Authenticated, AuthenticatedRequest, CredentialKind, Identity } from '../../directory/identity.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { CredentialSource } from '../handler.ts'
import { type AccountSessionDeps, createAccountSessions } from './account-session.ts'
import { readCookie } from './cookie-value.ts'
import { createSessionService, type SessionServiceDeps, type SignInCredentials } from './session-service.ts'

export const ADMIN_COOKIE = 'CardeaAdmin'

export const CONSOLE_SESSION: CredentialKind = {
  name: 'console session',
  sentByBrowser: 'header',
  provesPassword: 'its session',
}

export const CONSOLE_HANDLER = 'admin-session'

/** Signed into every cookie, so that a cookie of the document door is rejected here, and the other way round. */
const USE = { kind: CONSOLE_SESSION, handler: CONSOLE_HANDLER, purpose: 'admin' } as const

export interface ConsoleSessions {
  /** The identity of the admin cookie; `undefined`: there is no valid cookie. */
  find(source: CredentialSource): Promise<AuthenticatedRequest | undefined>
  /** Opens a session and returns the value of its cookie; `undefined`: wrong name, password or code. */
  open(
    credentials: SignInCredentials,
    source: CredentialSource,
  ): Promise<{ identity: Identity; value: string } | undefined>
  /** Opens another session for an account whose sessions have ended with a new password. */
  reopen(account: Account, source: CredentialSource, opening: SessionOpening): Promise<{ value: string }>
  end(authenticated: Authenticated): Promise<void>
  /** The token that a page of this session sends with every request. */
  pageTokenOf(authenticated: Authenticated): string | undefined
}

export type ConsoleSessionsDeps = AccountSessionDeps &
  SessionServiceDeps & {
    /** Signs the page tokens. */
    ownKey(): Uint8Array
  }

export function createConsoleSessions(
  deps: Omit<ConsoleSessionsDeps, 'use' | 'accounts' | 'endpoint'>,
): ConsoleSessions {
  const accounts = createAccountSessions({ ...deps, use: USE })
  const service = createSessionService({ ...deps, accounts, endpoint: CONSOLE_HANDLER })
  return {
    async find(source) {
      const value = source.cookie(ADMIN_COOKIE) ?? ''
      const cookie = readCookie(value)
      const found = cookie && (await accounts.find(cookie))
      if (found) {
        deps.recorder.onUsed(found, source)
        return found
      }
      const isForged = cookie ? await accounts.isForged(cookie) : value !== ''
      if (isForged) deps.events.record('sign-in.refused', { reason: FORGED, handler: CONSOLE_HANDLER })
      return undefined
    },
    async open(credentials, source) {
      const opened = await service.open(credentials, source)
      return opened && { identity: opened.identity, value: opened.cookie.value }
    },
    reopen: async (account, source, opening) => (await service.openFor(account, source, opening)).cookie,
    async end({ credential }) {
      if (credential?.session) await service.end(credential.session)
    },
    pageTokenOf: ({ credential }) => credential?.session && toPageToken(credential.session.id, deps.ownKey()),
  }
}

const FORGED = 'admin cookie ignored: it is malformed, or its signature is wrong'

/** The same for every page of a session, different for every session. */
const toPageToken = (sessionId: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(`page:${sessionId}`).digest('base64url')
