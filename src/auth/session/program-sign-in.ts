import { nowSeconds } from '../../base/clock.ts'
import type { Account } from '../../directory/account.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { CredentialSource } from '../handler.ts'
import { createSessionService, type SessionServiceDeps, type SignInCredentials } from './session-service.ts'
import { renderSessionCookie, type SessionSettings } from './set-cookie.ts'

/** A request to another server, whose response sets the cookie. */
type ProgramRequest = CredentialSource & { readonly client: { readonly scheme: 'http' | 'https' } }

/** For programs that sign users in by routes of their own. */
export interface ProgramSignIn {
  /** `undefined`: wrong name, password or code. */
  verify(credentials: SignInCredentials, request: ProgramRequest): Promise<Account | undefined>
  /** A session of the document door, and the header that sets its cookie. */
  open(account: Account, opening: SessionOpening, request: ProgramRequest): Promise<ProgramSession>
}

export interface ProgramSession {
  readonly id: string
  /** Seconds since the epoch; every use postpones it. */
  readonly expiresAt: number
  readonly header: ReturnType<typeof renderSessionCookie>
}

export interface ProgramSignInDeps extends Omit<SessionServiceDeps, 'endpoint'> {
  settings(): SessionSettings
}

const HANDLER = 'library'

export function createProgramSignIn({ settings, ...deps }: ProgramSignInDeps): ProgramSignIn {
  const service = createSessionService({ ...deps, endpoint: HANDLER })
  return {
    verify: (credentials, source) => deps.signIn({ ...credentials, source, handler: HANDLER }),
    async open(account, opening, request) {
      const { cookie } = await service.openFor(account, request, opening)
      const isSecure = request.client.scheme === 'https'
      const header = renderSessionCookie(cookie, { settings: settings(), isSecure, nowMs: deps.clock.nowMs() })
      return { id: cookie.id, expiresAt: nowSeconds(deps.clock) + cookie.maxAgeSeconds, header }
    },
  }
}
