import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { hasToken } from '../directory/access-token.ts'
import type { Directory } from '../directory/directory.ts'
import { type Identity, NO_GRANTS } from '../directory/identity.ts'
import { checkName } from '../directory/user.ts'
import { readMultiModelClaims, type UserClaims } from '../keys/multi-model-claims.ts'
import { type KeyRing, verifyWithRing } from '../keys/ring.ts'
import type { TokenCache } from '../keys/token-cache.ts'
import type { Claims } from '../keys/verify.ts'
import { ABSENT, type CredentialHandler, type Verdict } from './handler.ts'
import { readBearerToken } from './issued-token.ts'

export interface BearerDeps {
  ring(): KeyRing
  /** Claims that were verified. Whoever changes the keys empties it. */
  readonly cache: TokenCache<Claims>
  readonly issuer: string
  /** Whether tokens of users count, or superuser tokens alone. */
  knowsUsers(): boolean
  readonly directory: Pick<Directory, 'findAccount' | 'isSessionLive' | 'isForeignTokenLive'>
  readonly clock: Clock
}

/** The scheme in any case, ended by the first blank; further blanks do not count. */
const BEARER = /^bearer +(.*)$/i

/**
 * Tokens at the multi-model door, issued here or made by whoever knows the secret. A deliberate credential: one that
 * has the form is accepted or refused, never passed on. Clients are not told what was wrong with it.
 */
export function createBearerHandler(deps: BearerDeps): CredentialHandler {
  return {
    name: 'bearer',
    async read(source): Promise<Verdict> {
      const text = BEARER.exec(source.header('authorization') ?? '')?.[1]
      if (text === undefined) return ABSENT
      const claims = verifyOnce(text, deps)
      return typeof claims === 'string' ? refuse(claims) : judge(claims, deps)
    },
  }
}

const refuse = (detail: string): Verdict => ({ kind: 'refused', error: new Refusal('token_refused', { detail }) })

/** The claims, or why there are none. */
function verifyOnce(text: string, { ring, cache, clock }: BearerDeps): Claims | string {
  const keys = ring()
  const now = nowSeconds(clock)
  const place = { door: 'multi-model', version: keys.version, token: text }
  const known = cache.find(place, now)
  if (known) return known
  const token = verifyWithRing(text, keys)
  if (token.kind === 'refused') return token.reason
  const { exp } = token.claims
  cache.remember(place, token.claims, typeof exp === 'number' ? exp : undefined)
  return token.claims
}

const SUPERUSER: Identity = Object.freeze({
  name: null,
  roles: Object.freeze([]),
  isAdmin: false,
  grants: NO_GRANTS,
  isSuperuser: true,
})

async function judge(claims: Claims, deps: BearerDeps): Promise<Verdict> {
  const said = readMultiModelClaims(claims, { issuer: deps.issuer, nowSeconds: nowSeconds(deps.clock) })
  if (said.kind === 'refused') return refuse(said.reason)
  if (said.kind === 'user') return judgeUser(claims, said, deps)
  const { exp: expiresAt, allowedPaths } = said
  const bearer = { session: undefined, expiresAt, renewableUntil: undefined, allowedPaths }
  return { kind: 'accepted', identity: SUPERUSER, bearer }
}

async function judgeUser(claims: Claims, said: UserClaims, { directory, knowsUsers }: BearerDeps): Promise<Verdict> {
  const { name, iat: issuedAt } = said
  if (!knowsUsers()) return refuse('users are not known here')
  const account = checkName(name) === undefined ? await directory.findAccount(name) : undefined
  if (!account) return refuse('nobody of that name can sign in')
  const bearer = readBearerToken(claims, said)
  if (bearer.accessToken !== undefined && !hasToken(account, bearer.accessToken))
    return refuse('its access token ended')
  const isLive = bearer.session
    ? directory.isSessionLive(bearer.session)
    : directory.isForeignTokenLive({ name, issuedAt })
  return (await isLive) ? { kind: 'accepted', identity: account, bearer } : refuse('ended')
}
