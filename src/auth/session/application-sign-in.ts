// Sign-in for applications: opens and ends sessions of the document door, whose cookie the application sends.
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import type { SessionOpening } from '../../directory/sessions/session.ts'
import type { CredentialSource } from '../handler.ts'
import type { CookieHeaders } from './session-cookie.ts'
import { createSessionService, type SessionServiceDeps, type SignInCredentials } from './session-service.ts'

/** The name, the password or the code is wrong; or only the code is missing. */
type SignInProblem = 'credential_refused' | 'code_required'

export type ApplicationSignIn = ReturnType<typeof createApplicationSignIn>

/** For applications: `endpoint` is what security events name. The requests may be those to another server. */
export function createApplicationSignIn(
  deps: SessionServiceDeps & { readonly cookieHeaders: CookieHeaders; readonly clock: Clock },
) {
  const service = createSessionService(deps)
  const check = async (credentials: SignInCredentials, source: CredentialSource): Promise<Account | SignInProblem> => {
    let problem: SignInProblem = 'credential_refused'
    const onCodeMissing = () => {
      problem = 'code_required'
    }
    return (await deps.signIn({ ...credentials, source, handler: deps.endpoint, onCodeMissing })) ?? problem
  }
  return {
    check,
    /** Throws the problem. */
    async require(credentials: SignInCredentials, source: CredentialSource): Promise<Account> {
      const account = await check(credentials, source)
      if (typeof account === 'string') throw new Refusal(account)
      return account
    },
    /** A session of the document door, and the header that sets its cookie. Every use postpones its expiry. */
    async open(account: Account, request: CredentialSource, opening = toOpening(account)) {
      const { cookie } = await service.openFor(account, request, opening)
      const header = deps.cookieHeaders.render(cookie, request)
      return { id: cookie.id, expiresAt: nowSeconds(deps.clock) + cookie.maxAgeSeconds, header }
    },
    end: service.end,
    timeoutHeader: deps.cookieHeaders.renderTimeout,
    /** The header that removes the cookie. */
    clear: deps.cookieHeaders.renderCleared,
  }
}

/** `require` has checked the code too, where the account needs one. */
export const toOpening = ({ totp }: Account): SessionOpening => ({ hasPassword: true, hasFactor: totp !== undefined })
