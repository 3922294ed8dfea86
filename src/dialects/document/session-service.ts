import { type CookieSessions, findSession } from '../../auth/session/cookie-handler.ts'
import { createSessionService, openTokenSession, type SessionServiceDeps } from '../../auth/session/session-service.ts'
import type { SessionService } from './session.ts'

export interface DocumentSessionsDeps extends Omit<SessionServiceDeps, 'accounts' | 'endpoint'> {
  readonly cookies: CookieSessions
}

/** Opens and revokes the sessions of the document door. */
export function createDocumentSessions({ cookies, ...deps }: DocumentSessionsDeps): SessionService {
  const service = createSessionService({ ...deps, accounts: cookies.accounts, endpoint: '_session' })
  return {
    signIn: ({ name, password, token }, context) => service.open({ name, password, code: token }, context),
    openForToken: (authenticated, context) =>
      openTokenSession(authenticated, context, { ...deps, tokens: cookies.tokens }),
    async end(context) {
      // the cookie is revoked even if another credential decided the identity of the request
      const session = context.authenticated?.session ?? (await findSession(context, cookies))?.session
      if (session) await service.end(session)
    },
  }
}
