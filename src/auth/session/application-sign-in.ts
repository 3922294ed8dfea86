import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { CredentialSource } from '../handler.ts'
import { createSessionService, type SessionServiceDeps, type SignInCredentials } from './session-service.ts'
import type { CookieHeaders } from './set-cookie.ts'

export type ApplicationSignIn = ReturnType<typeof createApplicationSignIn>

/** For applications: `endpoint` is what security events name. The requests may be those to another server. */
export function createApplicationSignIn(
  deps: SessionServiceDeps & { readonly cookieHeaders: CookieHeaders; readonly clock: Clock },
) {
  const service = createSessionService(deps)
  return {
    /** `undefined`: wrong name, password or code. */
    find: (credentials: SignInCredentials, source: CredentialSource) =>
      deps.signIn({ ...credentials, source, handler: deps.endpoint }),
    /** Throws `credential_refused` if name, password or code is wrong, `code_required` if only the code is missing. */
    async require(credentials: SignInCredentials, source: CredentialSource): Promise<Account> {
      let problem: 'credential_refused' | 'code_required' = 'credential_refused'
      const onCodeMissing = () => {
        problem = 'code_required'
      }
      const account = await deps.signIn({ ...credentials, source, handler: deps.endpoint, onCodeMissing })
      if (!account) throw new Refusal(problem)
      return account
    },
    /** A session of the document door, and the header that sets its cookie. Every use postpones its expiry. */
    async open(account: Account, request: CredentialSource, opening = toOpening(account)) {
      const { cookie } = await service.openFor(account, request, opening)
      const header = deps.cookieHeaders.render(cookie, request)
      return { id: cookie.id, expiresAt: nowSeconds(deps.clock) + cookie.maxAgeSeconds, header }
    },
    end: service.end,
    /** The header that removes the cookie. */
    clear: deps.cookieHeaders.renderCleared,
  }
}

/** `require` has checked the code too, where the account needs one. */
const toOpening = ({ totp }: Account): SessionOpening => ({ hasPassword: true, hasFactor: totp !== undefined })
