// The claims of tokens that Cardea issues at the multi-model door, written and read in one file.
import { findMember } from '../base/json.ts'
import type { BearerToken } from '../directory/identity.ts'
import type { Session } from '../directory/sessions/session.ts'
import type { UserClaims } from '../keys/multi-model-claims.ts'
import type { Claims } from '../keys/verify.ts'

/** Cardea's own claims: session epoch of the user, end of renewal, and mark of the token it was issued for. */
const GENERATION = 'cdg'
const RENEWABLE_UNTIL = 'cdu'
const ACCESS_TOKEN = 'cdt'
const FOREIGN_TOKEN = 'cdf'

export interface IssuedToken {
  readonly session: Session
  readonly issuer: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly renewableUntil: number | undefined
  readonly accessToken: string | undefined
  readonly allowedPaths: readonly string[] | undefined
}

/** The claims of ArangoDB, in its order, then those that identify the session. */
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
  ...(token.session.foreignToken === undefined ? {} : { [FOREIGN_TOKEN]: token.session.foreignToken }),
})

/** Whether the claims are those of a session that was opened here with a credential. A program may have made them up. */
export const hasIssuedForm = (claims: Claims): boolean =>
  typeof findMember(claims, 'jti') === 'string' &&
  typeof findMember(claims, GENERATION) === 'number' &&
  findMember(claims, FOREIGN_TOKEN) === undefined &&
  findMember(claims, 'allowed_paths') === undefined

/** A token without all claims of a session was issued by another party. */
export function readBearerToken(claims: Claims, { name, exp, iat, jti, allowedPaths }: UserClaims): BearerToken {
  const generation = findMember(claims, GENERATION)
  const until = findMember(claims, RENEWABLE_UNTIL)
  const accessToken = findMember(claims, ACCESS_TOKEN)
  const mark = findMember(claims, FOREIGN_TOKEN)
  const foreignToken = typeof mark === 'string' ? mark : undefined
  const isIssued = jti !== undefined && iat !== undefined && typeof generation === 'number'
  return {
    session: isIssued ? { id: jti, name, generation, issuedAt: iat, foreignToken } : undefined,
    issuedAt: iat,
    expiresAt: exp,
    renewableUntil: typeof until === 'number' ? until : undefined,
    accessToken: typeof accessToken === 'string' ? accessToken : undefined,
    allowedPaths,
  }
}
