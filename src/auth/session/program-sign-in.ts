import { type Clock, nowSeconds } from '../../base/clock.ts'
import type { Account } from '../../directory/account.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { CredentialSource } from '../handler.ts'
import { createSessionService, type SessionServiceDeps, type SignInCredentials } from './session-service.ts'
import type { CookieHeaders } from './set-cookie.ts'

const HANDLER = 'library'

export type ProgramSignIn = ReturnType<typeof createProgramSignIn>

/** For programs that sign users in by routes of their own. The requests are those to the program. */
export function createProgramSignIn(
  deps: Omit<SessionServiceDeps, 'endpoint'> & { readonly cookieHeaders: CookieHeaders; readonly clock: Clock },
) {
  const service = createSessionService({ ...deps, endpoint: HANDLER })
  return {
    /** `undefined`: wrong name, password or code. */
    verify: (credentials: SignInCredentials, source: CredentialSource) =>
      deps.signIn({ ...credentials, source, handler: HANDLER }),
    /** A session of the document door, and the header that sets its cookie. Every use postpones its expiry. */
    async open(account: Account, opening: SessionOpening, request: CredentialSource) {
      const { cookie } = await service.openFor(account, request, opening)
      const header = deps.cookieHeaders.render(cookie, request)
      return { id: cookie.id, expiresAt: nowSeconds(deps.clock) + cookie.maxAgeSeconds, header }
    },
  }
}
