import { findTokenUser } from '../directory/access-token.ts'
import { DOCUMENT_TYPES } from '../keys/document-claims.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { type KeyRing, verifyWithRing } from '../keys/ring.ts'
import { findIssuer, verify } from '../keys/verify.ts'

/** The keys of the multi-model door, and of the document door. */
type OwnKeys = { ring(): KeyRing; jwtKeys(): JwtKeys; readonly issuers: ReadonlySet<string> }

/**
 * Whether an `Authorization` header of an anonymous request may be a credential of Cardea: valid at the other door,
 * at another time or with a one-time code. Such a header is not forwarded to applications. Every Basic header counts,
 * so that no application can learn by it which names exist.
 */
export const createIsOwnCredential =
  (keys: OwnKeys) =>
  (authorization: string): boolean => {
    if (BASIC.test(authorization) || hasAccessToken(authorization)) return true
    const tokens = authorization.match(TOKENS) ?? []
    return tokens.length > MAX_TOKENS || tokens.some((token) => isSignedHere(token, keys))
  }

const BASIC = /^basic\b/i
/** With any scheme, or without one. */
const TOKENS = /[\w-]+\.[\w-]+\.[\w-]*/g
/** No client sends more. Each is verified, so with more the header is not forwarded. */
const MAX_TOKENS = 4
const ACCESS_TOKENS = /v1\.[0-9a-f]+/gi

/** Anywhere in the header: an access token is as good as a password, even of another user or expired. */
const hasAccessToken = (authorization: string): boolean =>
  authorization.match(ACCESS_TOKENS)?.some((text) => findTokenUser(text.toLowerCase()) !== undefined) ?? false

/** Whether one of Cardea's keys signed the token, whatever its claims are; one of another issuer may be valid later. */
const isSignedHere = (token: string, { ring, jwtKeys, issuers }: OwnKeys): boolean =>
  (issuers.size > 0 && issuers.has(findIssuer(token) ?? '')) ||
  verifyWithRing(token, ring()).kind === 'verified' ||
  verify(token, { types: DOCUMENT_TYPES, findKeys: jwtKeys().find }).kind === 'verified'
