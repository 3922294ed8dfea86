import { type Clock, nowSeconds } from '../base/clock.ts'
import { type ErrorCode, Refusal } from '../base/errors.ts'
import { type ClaimProblem, type DocumentClaimRules, readDocumentClaims } from '../keys/claims.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { type RefusedToken, type TokenReason, type VerifiedToken, verify } from '../keys/token.ts'
import { createTokenCache } from '../keys/token-cache.ts'
import { isName, isRole, toForeignIdentity } from './foreign-identity.ts'
import { ABSENT, type CredentialHandler, type Verdict } from './handler.ts'

export interface JwtNeeds {
  keys(): JwtKeys
  rules(): Pick<DocumentClaimRules, 'required' | 'roles'>
  /** Whether whoever has this name has not ended what was issued until then. */
  isForeignTokenLive(token: { readonly name: string; readonly issuedAt: number | undefined }): Promise<boolean>
  readonly clock: Clock
}

const SCHEME = 'Bearer '

/**
 * Tokens somebody else signed, at the document door. A deliberate credential: one that has the form is accepted or
 * refused, never passed on. Nobody needs to be in the directory for it: name and roles are what the token says.
 */
export function createJwtHandler(needs: JwtNeeds): CredentialHandler {
  const verifyOnce = createVerifier(needs)
  return {
    name: 'jwt',
    read(source) {
      const header = source.header('authorization') ?? ''
      if (!header.startsWith(SCHEME)) return ABSENT
      const token = verifyOnce(header.slice(SCHEME.length))
      return token.kind === 'refused' ? refused(toTokenRefusal(token)) : judge(token, needs)
    },
  }
}

/** What a token of another kind may call itself: nothing here. */
export const DOCUMENT_TYPES: readonly (string | undefined)[] = [undefined, 'JWT', 'at+jwt']

function createVerifier({ keys, clock }: JwtNeeds): (text: string) => VerifiedToken | RefusedToken {
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

async function judge({ claims, header, key }: VerifiedToken, needs: JwtNeeds): Promise<Verdict> {
  const said = readDocumentClaims(claims, header, {
    ...needs.rules(),
    nowSeconds: nowSeconds(needs.clock),
    isName,
    isRole,
  })
  if (said.kind === 'refused') return refused(toClaimRefusal(said.problem))
  const { name, roles, exp, iat } = said
  if (!(await needs.isForeignTokenLive({ name, issuedAt: iat })))
    return refused(new Refusal('token_refused', { about: ENDED }))
  const origin = {
    issuedAt: iat,
    expiresAt: exp,
    algorithm: header.algorithm.name,
    kid: typeof header.kid === 'string' ? header.kid : undefined,
    keyVersion: key.version,
  }
  return { kind: 'accepted', identity: toForeignIdentity(name, roles), origin }
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
