import type { AcceptedCredential, CredentialSource } from '../../src/auth/handler.ts'
import { createAccountSessions } from '../../src/auth/session/account-session.ts'
import type { SigningSettings } from '../../src/auth/session/cookie-value.ts'
import { createCookieSecrets, createCookieTimeouts } from '../../src/auth/session/secrets.ts'
import { createCookieHandler } from '../../src/auth/session/session-cookie.ts'
import { createTokenSessions } from '../../src/auth/session/token-session.ts'
import { createTestClock, openTestNode } from '../support/directory.ts'
import type { Scope } from '../support/scope.ts'
import { readVerdict } from './read-verdict.ts'

/** Where nothing but a cookie comes from. */
export const sourceOf = (cookie: string): CredentialSource => ({
  signal: new AbortController().signal,
  client: { address: '127.0.0.1', directAddress: '127.0.0.1', scheme: 'http', isTrusted: false },
  rawHeaders: [],
  header: () => undefined,
  isRepeated: () => false,
  addToUnauthorized: () => {},
  cookie: () => cookie,
  cookieValues: () => [cookie].filter((value) => value !== undefined),
})

/** Sessions over a real directory, with a clock and options to turn. */
export async function openSessions(scope: Scope, first: Partial<SigningSettings> = {}) {
  const clock = createTestClock()
  const node = await openTestNode(scope, { clock })
  let settings: SigningSettings = {
    timeoutSeconds: 600,
    maxLifetimeSeconds: 0,
    algorithms: ['sha256', 'sha1'],
    ...first,
  }
  const timeouts = createCookieTimeouts(settings.timeoutSeconds, clock)
  const secrets = createCookieSecrets({ secret: 'secret', timeoutSeconds: () => settings.timeoutSeconds, clock })
  const keys = new Map<string, string>([['HS256/', 'v1']])
  const deps = {
    secrets,
    timeouts,
    settings: () => settings,
    directory: node.directory,
    findOriginVersion: (algorithm: string, kid: string | undefined) => keys.get(`${algorithm}/${kid ?? ''}`),
    clock,
  }
  const accounts = createAccountSessions(deps)
  const tokens = createTokenSessions(deps)
  const handler = createCookieHandler({ accounts, tokens, cookieSettings: () => ({ cookie_host_prefix: false }) })
  const read = (cookie: string) => readVerdict(handler, sourceOf(cookie))
  return {
    ...node,
    clock,
    secrets,
    keys,
    accounts,
    tokens,
    read,
    set(change: Partial<SigningSettings>) {
      settings = { ...settings, ...change }
      timeouts.replace(settings.timeoutSeconds)
    },
    async open(name: string): Promise<string> {
      const account = await node.directory.findAccount(name)
      if (!account) throw new TypeError(`there is no account ${name}`)
      return accounts.open(account, { hasPassword: true, hasFactor: false }).value
    },
    async findAccepted(cookie: string): Promise<AcceptedCredential | undefined> {
      const verdict = await read(cookie)
      return verdict.kind === 'accepted' ? verdict : undefined
    },
  }
}
