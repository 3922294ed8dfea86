// The claims of tokens that Cardea issues at the multi-model door, written and read in one file.
import { findMember } from '../base/json.ts'
import type { Credential, CredentialKind } from '../directory/identity.ts'
import type { Session } from '../directory/sessions/session.ts'
import type { UserClaims } from '../keys/multi-model-claims.ts'
import type { Claims } from '../keys/verify.ts'

/** A token that Cardea issued at the multi-model door for a session. */
export const ISSUED_TOKEN: CredentialKind = { name: 'issued token', provesPassword: 'its session' }
/** A token that another program signed with the secret of the multi-model door. */
export const FOREIGN_TOKEN: CredentialKind = { name: 'foreign token' }

/** A token of the multi-model door that names a user. */
export interface UserToken extends Credential {
  /** `undefined` for a token that another program signed. */
  readonly session: Session | undefined
  /** Its `iat`, in seconds. */
  readonly issuedAt: number | undefined
  /** It cannot be renewed beyond this time, because the credential it was issued for expires then. */
  readonly renewableUntil: number | undefined
}

export const isUserToken = (credential: Credential | undefined): credential is UserToken =>
  credential?.kind === ISSUED_TOKEN || credential?.kind === FOREIGN_TOKEN

/** Cardea's own claims: session epoch of the user, end of renewal, and mark of the token it was issued for. */
const GENERATION = 'cdg'
const RENEWABLE_UNTIL = 'cdu'
const ACCESS_TOKEN = 'cdt'
const FOREIGN_MARK = 'cdf'

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
  ...(token.session.foreignToken === undefined ? {} : { [FOREIGN_MARK]: token.session.foreignToken }),
})

/** Whether the claims are those of a session that was opened here with a credential. A program may have made them up. */
export const hasIssuedForm = (claims: Claims): boolean =>
  typeof findMember(claims, 'jti') === 'string' &&
  typeof findMember(claims, GENERATION) === 'number' &&
  findMember(claims, FOREIGN_MARK) === undefined &&
  findMember(claims, 'allowed_paths') === undefined

/** A token without all claims of a session was issued by another party. */
export function readUserToken(
  claims: Claims,
  { name, exp, iat, jti, allowedPaths }: UserClaims,
  handler: string,
): UserToken {
  const generation = findMember(claims, GENERATION)
  const until = findMember(claims, RENEWABLE_UNTIL)
  const accessToken = findMember(claims, ACCESS_TOKEN)
  const mark = findMember(claims, FOREIGN_MARK)
  const foreignToken = typeof mark === 'string' ? mark : undefined
  const isIssued = jti !== undefined && iat !== undefined && typeof generation === 'number'
  return {
    kind: isIssued ? ISSUED_TOKEN : FOREIGN_TOKEN,
    handler,
    session: isIssued ? { id: jti, name, generation, issuedAt: iat, foreignToken } : undefined,
    issuedAt: iat,
    expiresAt: exp,
    renewableUntil: typeof until === 'number' ? until : undefined,
    accessToken: typeof accessToken === 'string' ? accessToken : undefined,
    allowedPaths,
  }
}
