// Sessions opened with a token: they say what it said, and end with it at the latest.
import { randomBytes } from 'node:crypto'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Directory } from '../../directory/directory.ts'
import type { RenewedSession, TokenOrigin } from '../../directory/presented-session.ts'
import { toForeignIdentity } from '../foreign-identity.ts'
import type { AcceptedCredential } from '../handler.ts'
import type { CookieSecrets } from './cookie-secrets.ts'
import { type CookieSettings, type CookieTimeouts, lastExpiry } from './cookie-settings.ts'
import { isRenewalDue, type ReadCookie, SESSION_ID_BYTES } from './signed-cookie.ts'
import { mintTokenCookie, readTokenCookie, type TokenSession } from './token-cookie.ts'

export interface TokenSessionDeps {
  readonly secrets: CookieSecrets
  settings(): CookieSettings
  readonly timeouts: Pick<CookieTimeouts, 'living'>
  readonly directory: Pick<Directory, 'isForeignTokenLive'>
  /** The version of the key in force for this algorithm and `kid`. */
  findKeyVersion(algorithm: string, kid: string | undefined): string | undefined
  readonly clock: Clock
}

export interface TokenBearer {
  readonly name: string
  readonly roles: readonly string[]
  readonly origin: TokenOrigin
}

export interface TokenSessions {
  open(bearer: TokenBearer): RenewedSession
  /** `undefined`: not genuine, over, or ended. */
  find(cookie: ReadCookie): Promise<AcceptedCredential | undefined>
}

/** Browsers drop what is longer than 4096 bytes, name and attributes included. */
const MAX_CHARACTERS = 3600

export function createTokenSessions(deps: TokenSessionDeps): TokenSessions {
  const { clock } = deps
  return {
    open: (bearer) => mint(bearer, randomBytes(SESSION_ID_BYTES), deps),
    async find(cookie) {
      const { algorithms } = deps.settings()
      const session = readTokenCookie(cookie, { secrets: deps.secrets.living(), algorithms })
      if (!session || isOver(session, deps) || !(await isLive(session, deps))) return undefined
      const { name, roles, issuedAt, origin } = session
      return {
        kind: 'accepted',
        identity: toForeignIdentity(name, roles),
        origin,
        session: {
          id: idOf(session),
          name,
          expiresAt: lastExpiry(issuedAt, nowSeconds(clock), [session.timeoutSeconds, ...deps.timeouts.living()]),
          renew: () => renew(session, deps),
        },
      }
    },
  }
}

const idOf = ({ id }: TokenSession): string => Buffer.from(id).toString('base64url')

function mint({ name, roles, origin }: TokenBearer, id: Uint8Array, deps: TokenSessionDeps): RenewedSession {
  const secret = deps.secrets.current()
  if (!secret) throw new Refusal('internal', { detail: 'there is no secret to sign a cookie with' })
  const { timeoutSeconds, algorithms } = deps.settings()
  const issuedAt = nowSeconds(deps.clock)
  const value = mintTokenCookie(
    { id, name, roles, issuedAt, timeoutSeconds, origin },
    { secret, algorithm: algorithms[0] },
  )
  if (value.length > MAX_CHARACTERS) throw new Refusal('bad_request', { about: 'The token has too many roles.' })
  const leftSeconds = Math.floor((origin.expiresAt ?? Number.POSITIVE_INFINITY) - issuedAt)
  return { value, maxAgeSeconds: Math.min(timeoutSeconds, leftSeconds) }
}

function renew(session: TokenSession, deps: TokenSessionDeps): RenewedSession | undefined {
  const { timeoutSeconds } = deps.settings()
  const isDue = isRenewalDue(session.issuedAt, nowSeconds(deps.clock), timeoutSeconds)
  return isDue && deps.secrets.current() ? mint(session, session.id, deps) : undefined
}

function isOver({ issuedAt, timeoutSeconds, origin }: TokenSession, { settings, clock }: TokenSessionDeps): boolean {
  const now = nowSeconds(clock)
  const end = issuedAt + Math.min(timeoutSeconds, settings().timeoutSeconds)
  return now >= end || now >= (origin.expiresAt ?? Number.POSITIVE_INFINITY)
}

async function isLive(session: TokenSession, { directory, findKeyVersion }: TokenSessionDeps): Promise<boolean> {
  const { name, origin } = session
  const isKeyInForce = findKeyVersion(origin.algorithm, origin.kid) === origin.keyVersion
  return isKeyInForce && directory.isForeignTokenLive({ name, issuedAt: origin.issuedAt, id: idOf(session) })
}
