import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { findScope, findTokenByMark } from '../directory/access-token.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { type Identity, NO_GRANTS } from '../directory/identity.ts'
import type { Session } from '../directory/sessions/session.ts'
import { checkName } from '../directory/users/user.ts'
import { readMultiModelClaims, type UserClaims } from '../keys/multi-model-claims.ts'
import { type KeyRing, verifyWithRing } from '../keys/ring.ts'
import type { TokenCache } from '../keys/token-cache.ts'
import type { Claims } from '../keys/verify.ts'
import { ABSENT, type AcceptedCredential, type CredentialHandler, type Verdict } from './handler.ts'
import { hasIssuedForm, readBearerToken } from './issued-token.ts'

export interface BearerDeps {
  ring(): KeyRing
  /** Verified claims. Cleared when the keys change. */
  readonly cache: TokenCache<Claims>
  readonly issuer: string
  /** `false`: only superuser tokens are accepted. */
  knowsUsers(): boolean
  readonly directory: Pick<Directory, 'findAccount' | 'findPasswordTime' | 'isSessionLive' | 'isForeignTokenLive'>
  /** Seconds after the sign-in at which a session ends; 0: never. */
  maxLifetimeSeconds(): number
  readonly clock: Clock
}

/** The scheme is case-insensitive; any number of blanks may follow it. */
const BEARER = /^bearer +(.*)$/i

/**
 * Tokens at the multi-model door, issued by Cardea or by another party that knows the secret. A Bearer header is
 * accepted or rejected; the next handler is never asked. Clients do not learn why a token is rejected.
 */
export function createBearerHandler(deps: BearerDeps): CredentialHandler {
  return {
    name: 'bearer',
    async read(source): Promise<Verdict> {
      const text = BEARER.exec(source.header('authorization') ?? '')?.[1]
      if (text === undefined) return ABSENT
      const claims = verifyCached(text, deps)
      return typeof claims === 'string' ? refuse(claims) : checkClaims(claims, deps)
    },
  }
}

export interface IssuedTokenDeps extends BearerDeps {
  readonly directory: BearerDeps['directory'] & Pick<Directory, 'isOpenedHere'>
}

/**
 * For the document door: the verdict on a token that Cardea issued for a session; `undefined` for every other token.
 * Superuser tokens, and tokens that another program signed with the secret, are not accepted there.
 */
export const createIssuedTokenCheck =
  (deps: IssuedTokenDeps) =>
  async (text: string): Promise<Verdict | undefined> => {
    const claims = verifyCached(text, deps)
    if (typeof claims === 'string' || !hasIssuedForm(claims)) return undefined
    const verdict = await checkClaims(claims, deps)
    if (verdict.kind === 'accepted') return isOpenedHere(verdict, deps) ? verdict : undefined
    const detail = verdict.kind === 'refused' ? verdict.error.detail : undefined
    const about = 'Token is no longer valid.'
    return { kind: 'refused', error: new Refusal('token_refused', { about, ...(detail && { detail }) }) }
  }

function isOpenedHere({ identity, bearer }: AcceptedCredential, { directory }: IssuedTokenDeps): boolean {
  if (!bearer?.session || identity.name === null || !('sessionEpoch' in identity)) return false
  // of all identities only accounts have a session epoch
  return directory.isOpenedHere(bearer.session.id, identity as Account, bearer.accessToken)
}

const refuse = (detail: string): Verdict => ({ kind: 'refused', error: new Refusal('token_refused', { detail }) })

/** The claims, or the reason of the refusal. */
function verifyCached(text: string, { ring, cache, clock }: BearerDeps): Claims | string {
  const keys = ring()
  const now = nowSeconds(clock)
  const versioned = { token: text, version: keys.version }
  const known = cache.find(versioned, now)
  if (known) return known
  const token = verifyWithRing(text, keys)
  if (token.kind === 'refused') return token.reason
  const { exp } = token.claims
  cache.remember(versioned, token.claims, typeof exp === 'number' ? exp : undefined)
  return token.claims
}

const SUPERUSER: Identity = Object.freeze({
  name: null,
  roles: Object.freeze([]),
  isAdmin: false,
  grants: NO_GRANTS,
  isSuperuser: true,
})

async function checkClaims(claims: Claims, deps: BearerDeps): Promise<Verdict> {
  const reading = readMultiModelClaims(claims, { issuer: deps.issuer, nowSeconds: nowSeconds(deps.clock) })
  if (reading.kind === 'refused') return refuse(reading.reason)
  if (reading.kind === 'user') return checkUserToken(claims, reading, deps)
  const { exp: expiresAt, allowedPaths } = reading
  const bearer = { session: undefined, expiresAt, renewableUntil: undefined, allowedPaths }
  return { kind: 'accepted', identity: SUPERUSER, bearer }
}

async function checkUserToken(claims: Claims, reading: UserClaims, deps: BearerDeps): Promise<Verdict> {
  const { directory, knowsUsers } = deps
  const { name, iat: issuedAt } = reading
  if (!knowsUsers()) return refuse('user tokens are not accepted here')
  const account = checkName(name) === undefined ? await directory.findAccount(name) : undefined
  if (!account) return refuse('no active user of this name')
  const bearer = readBearerToken(claims, reading)
  const token = bearer.accessToken === undefined ? undefined : findTokenByMark(account, bearer.accessToken)
  if (bearer.accessToken !== undefined && !token) return refuse('its access token was revoked or has expired')
  const scope = token && findScope(token)
  if (bearer.session && isTooOld(account, bearer.session, deps)) return refuse('the session is too old')
  const isLive = bearer.session
    ? directory.isSessionLive(bearer.session)
    : directory.isForeignTokenLive({ name, issuedAt })
  return (await isLive) ? { kind: 'accepted', identity: account, bearer, scope } : refuse('the session was revoked')
}

/** A token expires by itself; this is for tokens that were issued before the limit was lowered. */
function isTooOld(account: Account, { id, issuedAt }: Session, deps: BearerDeps): boolean {
  const max = deps.maxLifetimeSeconds()
  return max > 0 && nowSeconds(deps.clock) >= (deps.directory.findPasswordTime(id, account) ?? issuedAt) + max
}
