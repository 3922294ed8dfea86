// Tokens of the multi-model door that Cardea issues: made and read side by side, so that the two cannot drift.
import { findMember } from '../base/json.ts'
import type { BearerToken } from '../directory/identity.ts'
import type { Session } from '../directory/session.ts'
import type { UserClaims } from '../keys/multi-model-claims.ts'
import type { Claims } from '../keys/verify.ts'

/** Cardea's own claims: the generation of the account, until when the token can be renewed, and what it rests on. */
const GENERATION = 'cdg'
const RENEWABLE_UNTIL = 'cdu'
const ACCESS_TOKEN = 'cdt'

export interface IssuedToken {
  readonly session: Session
  readonly issuer: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly renewableUntil: number | undefined
  readonly accessToken: string | undefined
  readonly allowedPaths: readonly string[] | undefined
}

/** The claims the multi-model database puts into a token, in its order, then those that make it one session's. */
export const toIssuedClaims = (token: IssuedToken): Claims => ({
  preferred_username: token.session.name,
  iss: token.issuer,
  iat: token.issuedAt,
  exp: token.expiresAt,
  ...(token.allowedPaths ? { allowed_paths: token.allowedPaths } : {}),
  jti: token.session.id,
  [GENERATION]: token.session.generation,
  ...(token.renewableUntil === undefined ? {} : { [RENEWABLE_UNTIL]: token.renewableUntil }),
  ...(token.accessToken === undefined ? {} : { [ACCESS_TOKEN]: token.accessToken }),
})

/** What verified claims say of the token. A session only where all of it is there: else somebody else issued it. */
export function readBearerToken(claims: Claims, { name, exp, iat, jti, allowedPaths }: UserClaims): BearerToken {
  const generation = findMember(claims, GENERATION)
  const until = findMember(claims, RENEWABLE_UNTIL)
  const accessToken = findMember(claims, ACCESS_TOKEN)
  const isIssued = jti !== undefined && iat !== undefined && typeof generation === 'number'
  return {
    session: isIssued ? { id: jti, name, generation, issuedAt: iat } : undefined,
    expiresAt: exp,
    renewableUntil: typeof until === 'number' ? until : undefined,
    accessToken: typeof accessToken === 'string' ? accessToken : undefined,
    allowedPaths,
  }
}
