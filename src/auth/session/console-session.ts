// Sessions of browsers at /_cardea/. Their cookie is signed like that of the document door, with a purpose of its own.
import { createHmac } from 'node:crypto'
import type { CredentialKind } from '../../directory/identity.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  isRunning,
} from '../handler.ts'
import { type AccountSessionDeps, createAccountSessions } from './account-session.ts'
import { readCookie } from './cookie-value.ts'
import { ADMIN_COOKIE } from './own-cookie.ts'
import { createSessionService, type SessionServiceDeps } from './session-service.ts'

export const CONSOLE_SESSION: CredentialKind = {
  name: 'console session',
  sentByBrowser: 'header',
  provesPassword: 'its session',
}

export const CONSOLE_HANDLER = 'admin-session'

/** Signed into every cookie, so that a cookie of the document door is rejected here, and the other way round. */
const USE = { kind: CONSOLE_SESSION, handler: CONSOLE_HANDLER, purpose: 'admin' } as const

export type ConsoleSessions = ReturnType<typeof createConsoleSessions>

/** `ownKey` signs the page tokens. */
export function createConsoleSessions(
  deps: AccountSessionDeps &
    Omit<SessionServiceDeps, 'accounts' | 'endpoint' | 'findPresented'> & { ownKey(): Uint8Array },
) {
  const accounts = createAccountSessions({ ...deps, use: USE })
  const findPresented = async (source: CredentialSource): Promise<AcceptedCredential | undefined> => {
    const cookie = readCookie(ADMIN_COOKIE.find(source) ?? '')
    return cookie && accounts.find(cookie, isRunning(source))
  }
  const service = createSessionService({ ...deps, accounts, findPresented, endpoint: CONSOLE_HANDLER })
  /** `undefined`: there is no valid cookie. Throws if there are two. */
  const find = async (source: CredentialSource): Promise<AcceptedCredential | undefined> => {
    const found = await findPresented(source)
    if (found) {
      deps.recorder.onUsed(found, source)
      return found
    }
    const value = ADMIN_COOKIE.find(source) ?? ''
    const cookie = readCookie(value)
    const isForged = cookie ? await accounts.isForged(cookie) : value !== ''
    if (isForged) deps.events.record('sign-in.refused', { reason: FORGED, handler: CONSOLE_HANDLER })
    return undefined
  }
  const handler: CredentialHandler = {
    name: CONSOLE_HANDLER,
    kinds: [CONSOLE_SESSION],
    read: (source) => async () => (await find(source)) ?? ABSENT,
  }
  return {
    find,
    handler,
    open: service.open,
    openFor: service.openFor,
    endCarried: service.endCarried,
    /** The token that a page of this session sends with every request. Different for every session. */
    pageTokenOf: (session: { readonly id: string } | undefined): string | undefined =>
      session && createHmac('sha256', deps.ownKey()).update(`page:${session.id}`).digest('base64url'),
  }
}

const FORGED = 'admin cookie ignored: it is malformed, or its signature is wrong'
