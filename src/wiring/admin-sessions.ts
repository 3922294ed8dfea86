// The sessions of browsers at /_cardea/, wired: a cookie of their own, made like those of the document door.
import { createHmac } from 'node:crypto'
import type { AcceptedCredential } from '../auth/handler.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import { readCookie } from '../auth/session/cookie-value.ts'
import { createSessionService } from '../auth/session/session-service.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import { ADMIN_COOKIE } from '../dialects/admin-api/browser.ts'
import { ADMIN_SESSION, type AdminSessions } from '../dialects/admin-api/session.ts'
import type { Authenticated } from '../directory/identity.ts'
import { followCookieTimeout } from '../live-config/cookie-secret.ts'
import type { DoorParts } from './doors.ts'
import { toAdminSessionSettings } from './options.ts'

type Parts = Pick<DoorParts, 'liveConfig' | 'directory' | 'signIn' | 'cookieSecrets'>

/** Bound into every cookie, so that none of the document door is accepted here, nor one of these there. */
const PURPOSE = 'admin'

export function createAdminSessions({ liveConfig, directory, signIn, cookieSecrets }: Parts): AdminSessions {
  const settings = deriveLive(liveConfig, (snapshot) => toAdminSessionSettings(snapshot.settings.values))
  const accounts = createAccountSessions({
    secrets: cookieSecrets,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, () => settings.get().timeoutSeconds),
    purpose: PURPOSE,
    directory,
    clock: SYSTEM_CLOCK,
  })
  const { events } = liveConfig
  const service = createSessionService({ signIn, accounts, directory, events, endpoint: ADMIN_SESSION })
  return {
    async find(context) {
      const cookie = readCookie(context.cookie(ADMIN_COOKIE) ?? '')
      const found = cookie && (await accounts.find(cookie))
      return found && toAuthenticated(found)
    },
    async open(credentials, context) {
      const opened = await service.open(credentials, context)
      return opened && { identity: opened.identity, value: opened.cookie.value }
    },
    async end({ session }) {
      if (session) await service.end(session)
    },
    pageTokenOf: ({ session }) => session && toPageToken(session.id, liveConfig.get().ownKey),
  }
}

const toAuthenticated = ({ identity, session }: AcceptedCredential): Authenticated => ({
  identity,
  session,
  by: ADMIN_SESSION,
})

/** The same for every page of a session, and for no other session. It ends with the session. */
const toPageToken = (sessionId: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(`page:${sessionId}`).digest('base64url')
