// The sessions of browsers at /_cardea/, wired: a cookie of their own, made like those of the document door.
import { createHmac } from 'node:crypto'
import type { AcceptedCredential } from '../auth/handler.ts'
import { type AccountSessions, createAccountSessions } from '../auth/session/account-session.ts'
import { createCookieTimeouts } from '../auth/session/cookie-settings.ts'
import { readCookie } from '../auth/session/signed-cookie.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { andThen } from '../base/maybe-promise.ts'
import { toDigests } from '../config/codecs.ts'
import { ADMIN_COOKIE } from '../dialects/admin-api/browser.ts'
import { ADMIN_SESSION, type AdminSessions } from '../dialects/admin-api/session.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import type { DoorParts } from './doors.ts'

type Parts = Pick<DoorParts, 'liveConfig' | 'directory' | 'signIn' | 'cookieSecrets'>

/** Bound into every cookie, so that none of the document door is accepted here, nor one of these there. */
const PURPOSE = 'admin'

export function createAdminSessions({ liveConfig, directory, signIn, cookieSecrets }: Parts): AdminSessions {
  const accounts = createAccountSessions({
    secrets: cookieSecrets,
    settings: () => toCookieSettings(liveConfig),
    timeouts: followTimeout(liveConfig),
    purpose: PURPOSE,
    directory,
    clock: SYSTEM_CLOCK,
  })
  return {
    find: (context) => findSession(context, accounts),
    async open({ name, password, code }, context) {
      const handler = ADMIN_SESSION
      const account = await signIn({ name, password, code, source: context, handler })
      if (!account) return undefined
      const opened = { identity: account, value: accounts.open(account).value }
      const subject = account.name
      liveConfig.events.record('sign-in.accepted', { subject, opened: 'session', actor: subject, handler })
      return opened
    },
    async end({ session }) {
      if (!session) return
      await directory.endSession({ id: session.id, name: session.name, expiresAt: session.expiresAt })
      liveConfig.events.record('sign-out', { subject: session.name })
    },
    pageTokenOf: ({ session }) => session && toPageToken(session.id, liveConfig.get().ownKey),
  }
}

function toCookieSettings(liveConfig: LiveConfig) {
  const { admin, chttpd_auth: auth } = liveConfig.get().settings.values
  const [first = 'sha256', ...others] = toDigests(auth.hash_algorithms)
  return { timeoutSeconds: admin['session-timeout'], algorithms: [first, ...others] as const }
}

function followTimeout(liveConfig: LiveConfig) {
  const seconds = () => liveConfig.get().settings.values.admin['session-timeout']
  const timeouts = createCookieTimeouts(seconds(), SYSTEM_CLOCK)
  liveConfig.onChange(() => timeouts.replace(seconds()))
  return timeouts
}

function findSession(context: RequestContext, accounts: AccountSessions) {
  const value = context.cookie(ADMIN_COOKIE)
  if (value === undefined || value === '') return undefined
  return andThen(accounts.recall(value), (known) => {
    if (known) return toAuthenticated(known)
    const cookie = readCookie(value)
    return cookie && andThen(accounts.find(cookie), (found) => found && toAuthenticated(found))
  })
}

const toAuthenticated = ({ identity, session }: AcceptedCredential): Authenticated => ({
  identity,
  session,
  by: ADMIN_SESSION,
})

/** The same for every page of a session, and for no other session. It ends with the session. */
const toPageToken = (sessionId: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(`page:${sessionId}`).digest('base64url')
