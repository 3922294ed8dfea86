import { type Clock, nowSeconds } from '../base/clock.ts'
import { type ErrorCode, Refusal } from '../base/errors.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import {
  type ClaimProblem,
  checkTimes,
  DOCUMENT_TYPES,
  type DocumentClaimRules,
  readDocumentClaims,
} from '../keys/claims.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { type RefusedToken, type TokenReason, type VerifiedToken, verify } from '../keys/token.ts'
import { createTokenCache } from '../keys/token-cache.ts'
import { isName, isRole, toForeignIdentity } from './foreign-identity.ts'
import { ABSENT, type AcceptedCredential, type CredentialHandler, type Verdict } from './handler.ts'

export interface JwtDeps {
  keys(): JwtKeys
  rules(): Pick<DocumentClaimRules, 'required' | 'roles'>
  /** Whether whoever has this name has not ended what was issued until then. */
  isForeignTokenLive(token: { readonly name: string; readonly issuedAt: number | undefined }): MaybePromise<boolean>
  readonly clock: Clock
}

const SCHEME = 'Bearer '

/**
 * Tokens somebody else signed, at the document door. A deliberate credential: one that has the form is accepted or
 * refused, never passed on. Nobody needs to be in the directory for it: name and roles are what the token says.
 */
export function createJwtHandler(deps: JwtDeps): CredentialHandler {
  const verifyOnce = createVerifier(deps)
  const readOnce = createReader(deps)
  return {
    name: 'jwt',
    read(source) {
      const header = source.header('authorization') ?? ''
      if (!header.startsWith(SCHEME)) return ABSENT
      const token = verifyOnce(header.slice(SCHEME.length))
      return token.kind === 'refused' ? refused(toTokenRefusal(token)) : judge(readOnce(token), deps)
    },
  }
}

function createVerifier({ keys, clock }: JwtDeps): (text: string) => VerifiedToken | RefusedToken {
  const cache = createTokenCache<VerifiedToken>()
  return (text) => {
    const { find: findKeys, version } = keys()
    const place = { door: 'document', version, token: text }
    const known = cache.find(place, nowSeconds(clock))
    if (known) return known
    const token = verify(text, { types: DOCUMENT_TYPES, findKeys })
    if (token.kind === 'verified') cache.remember(place, token, undefined)
    return token
  }
}

/** What a token says, as long as nobody ended it. */
interface Said {
  readonly credential: AcceptedCredential
  readonly name: string
  readonly issuedAt: number | undefined
}

/** What a verified token says stays the same under the same rules; only its times are looked at again. */
function createReader({ rules, clock }: JwtDeps): (token: VerifiedToken) => Said | ClaimProblem {
  const known = new WeakMap<VerifiedToken, { readonly by: ReturnType<JwtDeps['rules']>; readonly said: Said }>()
  return (token) => {
    const by = rules()
    const before = known.get(token)
    if (before?.by === by) return checkTimes(token.claims, nowSeconds(clock)) ?? before.said
    const said = read(token, by, nowSeconds(clock))
    if (!('code' in said)) known.set(token, { by, said })
    return said
  }
}

function read(token: VerifiedToken, rules: ReturnType<JwtDeps['rules']>, seconds: number): Said | ClaimProblem {
  const { claims, header, key } = token
  const said = readDocumentClaims(claims, header, { ...rules, nowSeconds: seconds, isName, isRole })
  if (said.kind === 'refused') return said.problem
  const { name, roles, exp, iat } = said
  const origin = {
    issuedAt: iat,
    expiresAt: exp,
    algorithm: header.algorithm.name,
    kid: typeof header.kid === 'string' ? header.kid : undefined,
    keyVersion: key.version,
  }
  const credential: AcceptedCredential = { kind: 'accepted', identity: toForeignIdentity(name, roles), origin }
  return { credential, name, issuedAt: iat }
}

function judge(said: Said | ClaimProblem, { isForeignTokenLive }: JwtDeps): MaybePromise<Verdict> {
  if ('code' in said) return refused(toClaimRefusal(said))
  return andThen(isForeignTokenLive(said), (isLive) =>
    isLive ? said.credential : refused(new Refusal('token_refused', { about: ENDED })),
  )
}

const refused = (error: Refusal): Verdict => ({ kind: 'refused', error })

const ENDED = 'Token is no longer valid.'

const TOKEN_WORDS: Readonly<Record<TokenReason, string>> = {
  malformed: 'Malformed token',
  not_an_object: 'Not an object',
  missing_alg: 'Missing alg header parameter',
  invalid_alg: 'Invalid alg header parameter',
  crit: 'Invalid crit header parameter',
  invalid_typ: 'Invalid typ header parameter',
  invalid_kid: 'Invalid kid header parameter',
  unknown_kid: 'Unknown kid',
  bad_key: 'Not a valid key',
  bad_mac: 'Bad HMAC',
  bad_signature: 'Bad signature',
}

const toTokenRefusal = ({ reason, problem }: RefusedToken): Refusal =>
  new Refusal('credential_malformed', { about: problem?.reason ?? TOKEN_WORDS[reason] })

type ClaimWords = readonly [ErrorCode, string]

const CLAIM_WORDS: Readonly<Record<ClaimProblem['code'], (problem: ClaimProblem) => ClaimWords>> = {
  missing: (problem) => ['claim_missing', `Missing ${'name' in problem ? problem.name : ''} claim`],
  invalid: (problem) => ['credential_malformed', `Invalid ${'name' in problem ? problem.name : ''} claim`],
  expired: () => ['token_refused', 'exp not in future'],
  not_yet_valid: () => ['token_refused', 'nbf not in past'],
  missing_sub: () => ['token_refused', 'Token missing sub claim.'],
  malformed_roles: () => ['credential_malformed', TOKEN_WORDS.malformed],
  roles_mismatch: () => ['claim_missing', 'json_mismatch'],
  missing_roles: (problem) => ['claim_missing', `missing json key: ${'segment' in problem ? problem.segment : ''}`],
}

function toClaimRefusal(problem: ClaimProblem): Refusal {
  const [code, about] = CLAIM_WORDS[problem.code](problem)
  return new Refusal(code, { about })
}
