import { type Clock, nowSeconds } from '../base/clock.ts'
import { type ErrorCode, Refusal } from '../base/errors.ts'
import type { Directory } from '../directory/directory.ts'
import type { Credential, CredentialKind, TokenOrigin } from '../directory/identity.ts'
import type { ForeignToken } from '../directory/sessions/session.ts'
import { type ClaimProblem, type ClaimRules, DOCUMENT_TYPES, readDocumentClaims } from '../keys/document-claims.ts'
import { type JwtKeys, toOriginVersion } from '../keys/jwt-keys.ts'
import { allowsName, type KeyLimits, keepRoles } from '../keys/key-limits.ts'
import { createTokenCache, type TokenCache } from '../keys/token-cache.ts'
import { type RefusedToken, type TokenReason, type VerifiedToken, verify } from '../keys/verify.ts'
import { EXTERNAL_TOKEN, type FindExternalToken } from './external-token.ts'
import {
  ABSENT,
  type AcceptedCredential,
  accept,
  type CredentialHandler,
  isName,
  isRole,
  reject,
  toExternalIdentity,
  type Verdict,
  type WaitForVerdict,
} from './handler.ts'
import { ISSUED_TOKEN } from './issued-token.ts'

export interface JwtDeps {
  keys(): JwtKeys
  /** Another object only after a change of the configuration. */
  rules(): ClaimRules
  /** Knows whether the user of the name was deactivated, or revoked everything issued until then. */
  readonly directory: Pick<Directory, 'isForeignTokenLive' | 'isForeignTokenKnownLive'>
  /** The verdict on a token of another issuer that a module knows; `undefined` for every other one. */
  readonly findExternalToken?: FindExternalToken | undefined
  /** The verdict on a token that Cardea issued; `undefined` for every other one. */
  findIssued(text: string): Promise<Verdict | undefined>
  readonly clock: Clock
}

export const EXTERNAL_JWT: CredentialKind = { name: 'external JWT' }

export interface ExternalJwt extends Credential {
  readonly origin: TokenOrigin
}

export const isExternalJwt = (credential: Credential | undefined): credential is ExternalJwt =>
  credential?.kind === EXTERNAL_JWT

export const JWT_HANDLER = 'jwt'

const SCHEME = 'Bearer '

/**
 * Bearer tokens at the document door: JWTs of another issuer, and tokens that Cardea issued at the multi-model door. The
 * name and roles of the former are those of the token; no user of that name needs to exist. A Bearer header is accepted
 * or rejected; the next handler is never asked.
 */
export function createJwtHandler(deps: JwtDeps): CredentialHandler {
  /** Signatures that were verified. */
  const cache = createTokenCache<VerifiedToken>()
  const readCached = createClaimReader(deps.rules)
  return {
    name: JWT_HANDLER,
    kinds: [EXTERNAL_JWT, ISSUED_TOKEN, EXTERNAL_TOKEN],
    read(source) {
      const header = source.header('authorization') ?? ''
      if (!header.startsWith(SCHEME)) return ABSENT
      const text = header.slice(SCHEME.length)
      const now = nowSeconds(deps.clock)
      const known = cache.find({ token: text, version: deps.keys().version }, now)
      // not for a known token: its issuer was read before
      const provided = known ? undefined : deps.findExternalToken?.(text, now)
      if (provided) return provided
      const token = known ?? verifyNew(text, deps.keys(), cache)
      return token.kind === 'verified' ? checkToken(readCached(token, now), deps) : () => checkIssued(text, token, deps)
    },
  }
}

/** A token that no key of this door verifies. No key verifies both kinds: two uses never share a secret. */
const checkIssued = async (text: string, refusal: RefusedToken, { findIssued }: JwtDeps): Promise<Verdict> =>
  (await findIssued(text)) ?? reject(toTokenRefusal(refusal))

function verifyNew(text: string, { find: findKeys, version }: JwtKeys, cache: TokenCache<VerifiedToken>) {
  const token = verify(text, { types: DOCUMENT_TYPES, findKeys })
  if (token.kind === 'verified') cache.remember({ token: text, version }, token, undefined)
  return token
}

/** What the claims of a token say by the rules of that time. */
interface TokenReading {
  readonly rules: ClaimRules
  readonly readAtSeconds: number
  /** With its name, for the directory. */
  readonly token: ForeignToken
  readonly accepted: AcceptedCredential
}

/**
 * Remembers what accepted claims say, with the token itself: clients send the same token with every request. They are
 * read again by other rules, after the token expired, and if the clock was set back: a token may not be valid yet.
 */
function createClaimReader(getRules: JwtDeps['rules']): (token: VerifiedToken, now: number) => TokenReading | Refusal {
  const readings = new WeakMap<VerifiedToken, TokenReading>()
  return (token, now) => {
    const rules = getRules()
    const known = readings.get(token)
    if (known?.rules === rules && isCurrent(known, now)) return known
    const reading = readClaims(token, rules, now)
    if (!(reading instanceof Refusal)) readings.set(token, reading)
    return reading
  }
}

const isCurrent = ({ readAtSeconds, accepted: { credential } }: TokenReading, now: number): boolean =>
  now >= readAtSeconds && now < (credential.expiresAt ?? Number.POSITIVE_INFINITY)

function readClaims({ claims, header, key }: VerifiedToken, rules: ClaimRules, now: number): TokenReading | Refusal {
  const subject = readDocumentClaims(claims, header, { ...rules, nowSeconds: now, isName, isRole })
  if (subject.kind === 'refused') return toClaimRefusal(subject.problem)
  const limited = key.limits ? applyLimits(subject, key.limits, now) : subject
  if (limited instanceof Refusal) return limited
  const { name, roles, exp, iat } = limited
  const origin = {
    issuedAt: iat,
    expiresAt: exp,
    algorithm: header.algorithm.name,
    kid: typeof header.kid === 'string' ? header.kid : undefined,
    version: toOriginVersion(key, rules),
  }
  const credential = { kind: EXTERNAL_JWT, handler: JWT_HANDLER, expiresAt: exp, keyVersion: key.version, origin }
  const accepted = accept(toExternalIdentity(name, roles), credential)
  return { rules, readAtSeconds: now, token: { name, issuedAt: iat }, accepted }
}

/** What a key is limited to holds as if the token said no more. */
function applyLimits<S extends TokenSubject>(subject: S, limits: KeyLimits, now: number): S | Refusal {
  const { name, roles, exp = Number.POSITIVE_INFINITY } = subject
  const { until = Number.POSITIVE_INFINITY } = limits
  if (now >= until) return new Refusal('token_refused', { reason: 'The key of this token has expired.' })
  if (!allowsName(limits, name))
    return new Refusal('token_refused', { reason: 'The key of this token is not for this name.' })
  const end = Math.min(exp, until)
  return { ...subject, roles: keepRoles(limits, roles), exp: Number.isFinite(end) ? end : undefined }
}

interface TokenSubject {
  readonly name: string
  readonly roles: readonly string[]
  readonly exp: number | undefined
}

function checkToken(reading: TokenReading | Refusal, { directory }: JwtDeps): Verdict | WaitForVerdict {
  if (reading instanceof Refusal) return reject(reading)
  const { token, accepted } = reading
  return directory.isForeignTokenKnownLive(token) ? accepted : () => askDirectory(accepted, token, directory)
}

async function askDirectory(accepted: Verdict, token: ForeignToken, directory: JwtDeps['directory']): Promise<Verdict> {
  if (await directory.isForeignTokenLive(token)) return accepted
  return reject(new Refusal('token_refused', { reason: 'Token is no longer valid.' }))
}

const TOKEN_REASONS: Readonly<Record<TokenReason, string>> = {
  malformed: 'Malformed token',
  not_an_object: 'Not an object',
  missing_alg: 'Missing alg header parameter',
  invalid_alg: 'Invalid alg header parameter',
  crit: 'Invalid crit header parameter',
  invalid_typ: 'Invalid typ header parameter',
  invalid_kid: 'Invalid kid header parameter',
  unknown_kid: 'Unknown kid',
  own_key: 'Invalid header parameter',
  bad_key: 'Not a valid key',
  bad_mac: 'Bad HMAC',
  bad_signature: 'Bad signature',
}

const toTokenRefusal = ({ reason, problem }: RefusedToken): Refusal =>
  new Refusal('credential_malformed', { reason: problem?.reason ?? TOKEN_REASONS[reason] })

type ClaimReason = readonly [ErrorCode, string]

const CLAIM_REASONS: Readonly<Record<ClaimProblem['code'], (problem: ClaimProblem) => ClaimReason>> = {
  missing: (problem) => ['claim_missing', `Missing ${'name' in problem ? problem.name : ''} claim`],
  invalid: (problem) => ['credential_malformed', `Invalid ${'name' in problem ? problem.name : ''} claim`],
  expired: () => ['token_refused', 'exp not in future'],
  not_yet_valid: () => ['token_refused', 'nbf not in past'],
  missing_sub: () => ['token_refused', 'Token missing sub claim.'],
  malformed_roles: () => ['credential_malformed', TOKEN_REASONS.malformed],
  roles_mismatch: () => ['claim_missing', 'json_mismatch'],
  missing_roles: (problem) => ['claim_missing', `missing json key: ${'segment' in problem ? problem.segment : ''}`],
}

function toClaimRefusal(problem: ClaimProblem): Refusal {
  const [code, reason] = CLAIM_REASONS[problem.code](problem)
  return new Refusal(code, { reason })
}
