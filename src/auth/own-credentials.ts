import { type Clock, nowSeconds } from '../base/clock.ts'
import { findTokenUser } from '../directory/access-token.ts'
import { DOCUMENT_TYPES } from '../keys/claims.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { MULTI_MODEL_TYPES } from '../keys/multi-model-claims.ts'
import { type KeyRing, verifyWithRing } from '../keys/ring.ts'
import { verify } from '../keys/token.ts'

export interface OwnCredentialDeps {
  /** The keys of the multi-model door. */
  ring(): KeyRing
  /** Those of the document door. */
  jwtKeys(): JwtKeys
  readonly clock: Clock
}

/**
 * Whether an `Authorization` that let nobody in is Cardea's business all the same: it may be right at the other door, or
 * later, or with a code beside it. Any password counts, so that no application can tell by it which names there are.
 */
export const createIsOwnCredential =
  (deps: OwnCredentialDeps) =>
  (authorization: string): boolean => {
    if (BASIC.test(authorization) || holdsAccessToken(authorization)) return true
    const token = BEARER.exec(authorization)?.[1]
    return token !== undefined && isSignedHere(token, deps)
  }

const BASIC = /^basic\b/i
const BEARER = /^bearer\s+(\S+)/i
const ACCESS_TOKENS = /v1\.[0-9a-f]+/gi

/** Wherever it stands: it is as good as a password, whose ever it is and whether or not it has ended. */
const holdsAccessToken = (authorization: string): boolean =>
  authorization.match(ACCESS_TOKENS)?.some((text) => findTokenUser(text.toLowerCase()) !== undefined) ?? false

/** Whatever it says, and whether or not its time is over. */
function isSignedHere(token: string, { ring, jwtKeys, clock }: OwnCredentialDeps): boolean {
  const own = verifyWithRing(token, ring(), { types: MULTI_MODEL_TYPES, nowSeconds: nowSeconds(clock) })
  if (own.kind === 'verified') return true
  return verify(token, { types: DOCUMENT_TYPES, findKeys: jwtKeys().find }).kind === 'verified'
}
