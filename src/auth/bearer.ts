import { nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { findScope, findTokenByMark, findTokenUser } from '../directory/access-token.ts'
import { type Account, isAccount } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { type CredentialKind, type Identity, NO_GRANTS } from '../directory/identity.ts'
import type { Session } from '../directory/sessions/session.ts'
import { checkName } from '../directory/users/names.ts'
import { readMultiModelClaims } from '../keys/multi-model-claims.ts'
import { verifyWithRing } from '../keys/ring.ts'
import type { TokenCache } from '../keys/token-cache.ts'
import type { Claims } from '../keys/verify.ts'
import { ACCESS_TOKEN, type CheckPassword, toTokenCredential } from './basic.ts'
import { EXTERNAL_TOKEN, type FindExternalToken } from './external-token.ts'
import {
  ABSENT,
  type AcceptedCredential,
  accept,
  type CredentialHandler,
  type RefusedCredential,
  reject,
  type Verdict,
} from './handler.ts'
import {
  FOREIGN_TOKEN,
  hasIssuedForm,
  ISSUED_TOKEN,
  type IssueDeps,
  readUserToken,
  type UserToken,
} from './issued-token.ts'
import { JWT_HANDLER } from './jwt.ts'

export interface BearerDeps extends Pick<IssueDeps, 'ring' | 'issuer' | 'maxLifetimeSeconds' | 'clock'> {
  /** Verified claims. Cleared when the keys change. */
  readonly cache: TokenCache<Claims>
  /** As in JwtDeps. */
  readonly findExternalToken?: FindExternalToken | undefined
  /** `false`: only superuser tokens are accepted. */
  knowsUsers(): boolean
  readonly directory: Pick<
    Directory,
    'findAccount' | 'findSignInTime' | 'toActing' | 'isOpenedHere' | 'isSessionLive' | 'isForeignTokenLive'
  >
  /** Whether an access token is accepted here too, and not only in place of the password. */
  acceptsAccessTokens(): boolean
}

/** A token without a name, signed with the secret of the multi-model door. */
export const SUPERUSER_TOKEN: CredentialKind = { name: 'superuser token' }

export const BEARER_HANDLER = 'bearer'

/** The scheme is case-insensitive; any number of blanks may follow it. */
const BEARER = /^bearer +(.*)$/i

/**
 * Tokens at the multi-model door, issued by Cardea or by another party that knows the secret. A Bearer header is
 * accepted or rejected; the next handler is never asked. Clients do not learn why a token is rejected.
 */
export const createBearerHandler = (deps: BearerDeps, check: CheckPassword): CredentialHandler => ({
  name: BEARER_HANDLER,
  kinds: [ISSUED_TOKEN, FOREIGN_TOKEN, SUPERUSER_TOKEN, EXTERNAL_TOKEN, ACCESS_TOKEN],
  read(source) {
    const text = BEARER.exec(source.header('authorization') ?? '')?.[1]
    if (text === undefined) return ABSENT
    if (deps.acceptsAccessTokens() && findTokenUser(text) !== undefined)
      return async () => {
        const checked = await check('', text, source)
        if (!checked?.token) return { ...refuseToken('no valid access token'), isRecorded: true }
        return accept(checked.account, toTokenCredential(checked.token, BEARER_HANDLER))
      }
    const known = findVerified(text, deps)
    const provided = !known && deps.knowsUsers() ? deps.findExternalToken?.(text, nowSeconds(deps.clock)) : undefined
    if (provided) return provided
    const claims = known ?? verifyNew(text, deps)
    return typeof claims === 'string' ? refuseToken(claims) : () => checkClaims(claims, BEARER_HANDLER, deps)
  },
})

/**
 * For the document door: the verdict on a token that is signed with the secret of the multi-model door; `undefined` for
 * every other token. Only those that Cardea issued for a session are accepted: superuser tokens, and tokens that another
 * program or `cardea token create` has signed, are not.
 */
export const createIssuedTokenCheck =
  (deps: BearerDeps) =>
  async (text: string): Promise<Verdict | undefined> => {
    const claims = findVerified(text, deps) ?? verifyNew(text, deps)
    if (typeof claims === 'string') return undefined
    if (!hasIssuedForm(claims)) return OF_OTHER_DOOR
    const verdict = await checkClaims(claims, JWT_HANDLER, deps)
    if (verdict.kind === 'accepted') return isOpenedHere(verdict, deps) ? verdict : OF_OTHER_DOOR
    const detail = verdict.kind === 'refused' ? verdict.error.detail : undefined
    return reject(new Refusal('token_refused', { reason: 'Token is no longer valid.', ...(detail && { detail }) }))
  }

const OF_OTHER_DOOR = reject(
  new Refusal('credential_malformed', {
    reason:
      'This token is for the multi-model door (ArangoDB). For this door create an access token of the user, which is sent in place of the password.',
  }),
)

function isOpenedHere({ identity, credential }: AcceptedCredential, { directory }: BearerDeps): boolean {
  if (!credential.session || !isAccount(identity)) return false
  return directory.isOpenedHere(credential.session.id, identity, credential.accessToken)
}

const refuseToken = (detail: string): RefusedCredential => reject(new Refusal('token_refused', { detail }))

/** The claims of a token that was verified before. */
const findVerified = (text: string, { ring, cache, clock }: BearerDeps): Claims | undefined =>
  cache.find({ token: text, version: ring().version }, nowSeconds(clock))

/** The claims, or the reason of the refusal. */
function verifyNew(text: string, { ring, cache }: BearerDeps): Claims | string {
  const keys = ring()
  const token = verifyWithRing(text, keys)
  if (token.kind === 'refused') return token.reason
  const { exp } = token.claims
  cache.remember({ token: text, version: keys.version }, token.claims, typeof exp === 'number' ? exp : undefined)
  return token.claims
}

const SUPERUSER: Identity = Object.freeze({
  name: null,
  roles: Object.freeze([]),
  isAdmin: false,
  grants: NO_GRANTS,
  isSuperuser: true,
})

async function checkClaims(claims: Claims, handler: string, deps: BearerDeps): Promise<Verdict> {
  const reading = readMultiModelClaims(claims, { issuer: deps.issuer, nowSeconds: nowSeconds(deps.clock) })
  if (reading.kind === 'refused') return refuseToken(reading.reason)
  if (reading.kind === 'user') return checkUserToken(reading.name, readUserToken(claims, reading, handler), deps)
  const { exp: expiresAt, allowedPaths } = reading
  return accept(SUPERUSER, { kind: SUPERUSER_TOKEN, handler, expiresAt, allowedPaths })
}

async function checkUserToken(name: string, token: UserToken, deps: BearerDeps): Promise<Verdict> {
  const { directory, knowsUsers } = deps
  const { session, accessToken: mark, issuedAt } = token
  if (!knowsUsers()) return refuseToken('user tokens are not accepted here')
  const identity = checkName(name) === undefined ? await directory.findAccount(name) : undefined
  if (!identity) return refuseToken('no active user of this name')
  const accessToken = mark === undefined ? undefined : findTokenByMark(identity, mark)
  if (mark !== undefined && !accessToken) return refuseToken('its access token was revoked or has expired')
  if (session && isTooOld(identity, session, deps)) return refuseToken('the session is too old')
  const isLive = session ? directory.isSessionLive(session) : directory.isForeignTokenLive({ name, issuedAt })
  if (!(await isLive)) return refuseToken('the session was revoked')
  const credential = accessToken ? { ...token, scope: findScope(accessToken) } : token
  return accept(session ? directory.toActing(identity, session.id) : identity, credential)
}

/** A token expires by itself; this is for tokens that were issued before the limit was lowered. */
function isTooOld(account: Account, { id, issuedAt }: Session, deps: BearerDeps): boolean {
  const max = deps.maxLifetimeSeconds()
  return max > 0 && nowSeconds(deps.clock) >= (deps.directory.findSignInTime(id, account) ?? issuedAt) + max
}
