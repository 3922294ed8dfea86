// How one shows at the document door who one is: its handlers in their order, and the sessions behind its cookie.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import type { CredentialHandler } from '../auth/handler.ts'
import { createJwtHandler, type JwtDeps } from '../auth/jwt.ts'
import { createProxyHandler, type ProxyHeaderNames } from '../auth/proxy.ts'
import { type AccountSessions, createAccountSessions } from '../auth/session/account-session.ts'
import { COOKIE_HANDLER, createCookieHandler, findSession } from '../auth/session/cookie.ts'
import type { CookieSettings } from '../auth/session/cookie-settings.ts'
import { isProxyToken } from '../auth/session/signed-cookie.ts'
import { createTokenSessions, type TokenSessions } from '../auth/session/token-session.ts'
import { createSignInObserver } from '../auth/sign-in-observer.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { toDigests } from '../config/codecs.ts'
import { toWireNames } from '../config/names.ts'
import type { Config } from '../config/options.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import type { SessionService } from '../dialects/document/session.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { RequestContext } from '../http/request-context.ts'
import { readRolesPath } from '../keys/claims.ts'
import { findKeyVersion, followTimeout } from '../live-config/document-keys.ts'
import type { DoorParts } from './doors.ts'

export interface DocumentCredentials {
  identify(context: RequestContext): MaybePromise<Authenticated>
  /** The same without the cookie of this door, which counts at no other dialect's paths. */
  identifyWithoutCookie(context: RequestContext): MaybePromise<Authenticated>
  /** The same for a request that was let in before. Records no sign-in. */
  identifyAgain(context: RequestContext): MaybePromise<Authenticated>
  /** Whether this handler is one of those that are asked now. */
  isAsked(handler: string): boolean
  readonly sessions: SessionService
}

type Parts = Pick<DoorParts, 'liveConfig' | 'directory' | 'signIn' | 'check' | 'jwtKeys' | 'cookieSecrets'>

export function createDocumentCredentials(parts: Parts): DocumentCredentials {
  const base = createBase(parts)
  const forms = createForms(parts, base)
  const catalogue = createCatalogue(parts, base, forms)
  const handlers = deriveLive(parts.liveConfig, ({ settings }) =>
    settings.values.chttpd.authentication_handlers.flatMap((name) => catalogue.get(name) ?? []),
  )
  const others = deriveLive(handlers, (all) => all.filter(({ name }) => name !== COOKIE_HANDLER))
  const observer = createSignInObserver(parts.liveConfig.events)
  return {
    identify: (context) => authenticate(context, handlers.get(), observer),
    identifyWithoutCookie: (context) => authenticate(context, others.get(), observer),
    identifyAgain: (context) => authenticate(context, handlers.get()),
    isAsked: (handler) => handlers.get().some(({ name }) => name === handler),
    sessions: createSessionService(parts, forms),
  }
}

type Base = ReturnType<typeof createBase>

const createBase = ({ liveConfig, jwtKeys, cookieSecrets }: Parts) => ({
  secrets: cookieSecrets,
  timeouts: followTimeout(liveConfig),
  keys: jwtKeys,
  rules: deriveLive(liveConfig, ({ settings }) => toRules(settings.values)),
})

interface Rules {
  readonly cookie: CookieSettings
  readonly headers: ProxyHeaderNames
  readonly claims: ReturnType<JwtDeps['rules']>
}

function toRules(config: Config): Rules {
  const { chttpd_auth: auth, jwt_auth: jwt } = config
  const names = toWireNames(config)
  const [first = 'sha256', ...others] = toDigests(auth.hash_algorithms)
  const path = jwt.roles_claim_path
  return {
    cookie: { timeoutSeconds: auth.timeout, algorithms: [first, ...others] },
    headers: { username: names.userNameHeader, roles: names.rolesHeader, token: names.tokenHeader },
    claims: {
      required: jwt.required_claims,
      roles: path === '' ? { kind: 'claim', name: names.rolesClaim } : readRolesPath(path),
    },
  }
}

interface Forms {
  readonly accounts: AccountSessions
  readonly tokens: TokenSessions
}

function createForms({ directory }: Parts, { secrets, timeouts, keys, rules }: Base): Forms {
  const cookies = {
    secrets,
    directory,
    settings: () => rules.get().cookie,
    timeouts,
    findKeyVersion: (algorithm: string, kid: string | undefined) => findKeyVersion(keys.get(), algorithm, kid),
    clock: SYSTEM_CLOCK,
  }
  return { accounts: createAccountSessions(cookies), tokens: createTokenSessions(cookies) }
}

function createCatalogue({ liveConfig, directory, check }: Parts, { secrets, keys, rules }: Base, forms: Forms) {
  const handlers: readonly CredentialHandler[] = [
    createJwtHandler({
      keys: keys.get,
      rules: () => rules.get().claims,
      isForeignTokenLive: directory.isForeignTokenLive,
      clock: SYSTEM_CLOCK,
    }),
    createProxyHandler({
      names: () => rules.get().headers,
      usesSecret: () => liveConfig.get().settings.values.chttpd_auth.proxy_use_secret,
      isToken: (name, token) => {
        const secret = secrets.current()
        const { algorithms } = rules.get().cookie
        return isProxyToken(token, name, { secrets: secret ? [secret] : [], algorithms })
      },
      // a proxy speaks of now, so nothing that ended earlier concerns it
      isWelcome: (name) => directory.isForeignTokenLive({ name, issuedAt: 'now' }),
    }),
    createCookieHandler(forms),
    createBasicHandler(DOCUMENT_BASIC, check),
  ]
  return new Map(handlers.map((handler) => [handler.name, handler]))
}

const SIGN_IN_ENDPOINT = '_session'

const createSessionService = ({ signIn, directory, liveConfig: { events } }: Parts, forms: Forms): SessionService => ({
  async signIn({ name, password, token }, context) {
    const account = await signIn({
      name,
      password,
      code: token,
      source: context,
      handler: SIGN_IN_ENDPOINT,
    })
    if (!account) return undefined
    const opened = { identity: account, cookie: forms.accounts.open(account) }
    events.record('sign-in.accepted', {
      subject: account.name,
      opened: 'session',
      actor: account.name,
      handler: SIGN_IN_ENDPOINT,
    })
    return opened
  },
  openForToken({ identity, origin }) {
    if (identity.name === null || origin === undefined) throw new TypeError('no token stands behind this request')
    const cookie = forms.tokens.open({ name: identity.name, roles: identity.roles, origin })
    events.record('sign-in.accepted', { subject: identity.name, opened: 'session' })
    return { identity, cookie }
  },
  async end(context) {
    // another credential may have been asked first; the cookie goes all the same
    const session = context.authenticated?.session ?? (await findSession(context, forms))?.session
    if (!session) return
    await directory.endSession({ id: session.id, name: session.name, expiresAt: session.expiresAt })
    events.record('sign-out', { subject: session.name })
  },
})
