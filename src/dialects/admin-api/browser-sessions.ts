// Sessions of browsers at /_cardea/. Their cookie is signed like that of the document door, with a purpose of its own.
import { createHmac } from 'node:crypto'
import type { DoorSignIn } from '../../auth/door-sign-in.ts'
import type { AcceptedCredential } from '../../auth/handler.ts'
import type { SessionRecorder } from '../../auth/record-sessions.ts'
import { type AccountSessionDeps, createAccountSessions } from '../../auth/session/account-session.ts'
import { readCookie } from '../../auth/session/cookie-value.ts'
import { createSessionService } from '../../auth/session/session-service.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import { ADMIN_COOKIE } from './browser.ts'
import { ADMIN_SESSION, type AdminSessions } from './session.ts'

export interface BrowserSessionsDeps extends Omit<AccountSessionDeps, 'purpose' | 'directory'> {
  readonly directory: AccountSessionDeps['directory'] & Pick<Directory, 'endSession' | 'makeRoom'>
  readonly signIn: DoorSignIn
  readonly events: SecurityEvents
  readonly recorder: SessionRecorder
  /** Signs the page tokens. */
  ownKey(): Uint8Array
}

/** Signed into every cookie, so that a cookie of the document door is rejected here, and the other way round. */
const PURPOSE = 'admin'

export function createBrowserSessions(deps: BrowserSessionsDeps): AdminSessions {
  const accounts = createAccountSessions({ ...deps, purpose: PURPOSE })
  const service = createSessionService({ ...deps, accounts, endpoint: ADMIN_SESSION })
  return {
    async find(context) {
      const value = context.cookie(ADMIN_COOKIE) ?? ''
      const cookie = readCookie(value)
      const found = cookie && (await accounts.find(cookie))
      if (found) {
        const authenticated = toAuthenticated(found)
        deps.recorder.onUsed(authenticated, context)
        return authenticated
      }
      const isForged = cookie ? await accounts.isForged(cookie) : value !== ''
      if (isForged) deps.events.record('sign-in.refused', { reason: FORGED, handler: ADMIN_SESSION })
      return undefined
    },
    async open(credentials, context) {
      const opened = await service.open({ code: '', ...credentials }, context)
      return opened && { identity: opened.identity, value: opened.cookie.value }
    },
    reopen: async (account, context, opening) => (await service.openFor(account, context, opening)).cookie,
    async end({ session }) {
      if (session) await service.end(session)
    },
    pageTokenOf: ({ session }) => session && toPageToken(session.id, deps.ownKey()),
  }
}

const FORGED = 'admin cookie ignored: it is malformed, or its signature is wrong'

const toAuthenticated = ({ identity, session }: AcceptedCredential): Authenticated => ({
  identity,
  session,
  by: ADMIN_SESSION,
})

/** The same for every page of a session, different for every session. */
const toPageToken = (sessionId: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(`page:${sessionId}`).digest('base64url')
