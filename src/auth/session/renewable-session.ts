// Sessions with a short token and a renewal token, for pages of other sites and for mobile apps: no cookie is needed.
import { nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Directory } from '../../directory/directory.ts'
import type { CredentialSource } from '../handler.ts'
import { createIssuedTokens, type IssueDeps, type IssuedTokenOpening } from '../issued-token.ts'
import {
  type ApplicationSignIn,
  createSessionOpener,
  type SessionServiceDeps,
  type SignInCredentials,
  toOpening,
} from './session-service.ts'

/** Options of `[auth]`, under their own names. */
export interface RenewableSettings {
  /** Seconds. */
  readonly 'token-timeout': number
  /** How long a session is valid without a renewal, in seconds. */
  readonly 'renewal-timeout': number
}

export interface RenewableSessionDeps extends Omit<SessionServiceDeps, 'accounts' | 'signIn'>, IssueDeps {
  readonly directory: Directory
  readonly signIn: Pick<ApplicationSignIn, 'require'>
  settings(): RenewableSettings
  /** `false`: no token of a user is accepted. */
  knowsUsers(): boolean
}

export type RenewableSessions = ReturnType<typeof createRenewableSessions>

/** Both expire in so many seconds. */
export type TokenPair = Awaited<ReturnType<RenewableSessions['open']>>

export function createRenewableSessions(deps: RenewableSessionDeps) {
  const { directory, settings, clock, events } = deps
  const tokens = createIssuedTokens(deps)
  const opener = createSessionOpener<IssuedTokenOpening>({
    ...deps,
    // the list of sessions shows it as long as it can be renewed
    issue: (account, opening) => ({ ...tokens.issue(account, opening), maxAgeSeconds: settings()['renewal-timeout'] }),
    opened: 'token',
  })
  /** `/_open/auth/renew` accepts this token too, so `validUntil` keeps it from living longer. */
  const toLifetime = (end = Number.POSITIVE_INFINITY) => {
    const now = nowSeconds(clock)
    const lifetimeSeconds = Math.trunc(Math.min(settings()['token-timeout'], end - now))
    return { lifetimeSeconds, validUntil: now + lifetimeSeconds }
  }
  return {
    async open(credentials: SignInCredentials, source: CredentialSource) {
      if (!deps.knowsUsers()) throw new Refusal('users_unsupported')
      const account = await deps.signIn.require(credentials, source)
      const lifetime = toLifetime()
      const { cookie } = await opener.openFor(account, source, { ...toOpening(account, credentials), ...lifetime })
      const { 'renewal-timeout': idleSeconds } = settings()
      const renewalToken = await directory.createRenewalToken(cookie.id, idleSeconds)
      const expiresIn = lifetime.lifetimeSeconds
      return { account, token: cookie.value, renewalToken, expiresIn, renewalExpiresIn: idleSeconds }
    },
    /** Throws `token_refused` if the renewal token is not valid. */
    async renew(text: string) {
      const { 'renewal-timeout': idleSeconds } = settings()
      const renewed = await directory.useRenewalToken(text, idleSeconds)
      const account = renewed && (await directory.findAccount(renewed.session.name))
      if (!account) throw new Refusal('token_refused')
      const { session, token: renewalToken } = renewed
      const max = deps.maxLifetimeSeconds()
      const { lifetimeSeconds, validUntil } = toLifetime(max === 0 ? undefined : session.issuedAt + max)
      if (lifetimeSeconds < 1) throw new Refusal('token_refused', { detail: 'the session is too old' })
      const known = { session, renewableUntil: validUntil, issuedAt: session.issuedAt }
      const token = await tokens.renew(account.name, known, lifetimeSeconds)
      return { account, token, renewalToken, expiresIn: lifetimeSeconds, renewalExpiresIn: idleSeconds }
    },
    async end(text: string): Promise<void> {
      const name = await directory.endRenewable(text)
      if (name !== undefined) events.record('sign-out', { subject: name })
    },
  }
}
