import { findMember, isJsonObject } from '../base/json.ts'
import type { Claims, TokenHeader } from './verify.ts'

/** The accepted values of `typ` at the document door. */
export const DOCUMENT_TYPES: readonly (string | undefined)[] = [undefined, 'JWT', 'at+jwt']

/** A claim every token must have; with a value, one that must be equal to it. */
export interface RequiredClaim {
  readonly name: string
  readonly value?: string
}

export type ClaimPlace =
  | { readonly kind: 'claim'; readonly name: string }
  | { readonly kind: 'path'; readonly segments: readonly string[] }

/** What options say of the claims of a token. */
export interface ClaimRules {
  readonly required: readonly RequiredClaim[]
  readonly roles: ClaimPlace
}

export interface DocumentClaimRules extends ClaimRules {
  readonly nowSeconds: number
  readonly isName: (name: string) => boolean
  readonly isRole: (role: string) => boolean
}

export type ClaimProblem =
  /** `header`: for `typ`, `kid` and `alg`. */
  | { readonly code: 'missing' | 'invalid'; readonly name: string; readonly place: 'claim' | 'header' }
  | { readonly code: 'expired' | 'not_yet_valid' | 'missing_sub' | 'malformed_roles' | 'roles_mismatch' }
  | { readonly code: 'missing_roles'; readonly segment: string }

export interface RefusedClaims {
  readonly kind: 'refused'
  readonly problem: ClaimProblem
}

/** The subject of verified claims at the document door, or the first problem. */
export function readDocumentClaims(claims: Claims, header: TokenHeader, rules: DocumentClaimRules) {
  const problem = checkRequired(claims, header, rules.required) ?? checkTimes(claims, rules.nowSeconds)
  if (problem) return refuseClaims(problem)
  const roles = readRoles(claims, rules)
  if (roles.kind === 'refused') return roles
  const name = readSubject(claims, rules.isName)
  if (name.kind === 'refused') return name
  const [exp, iat] = [findNumber(claims, 'exp'), findNumber(claims, 'iat')]
  return { kind: 'accepted' as const, name: name.value, roles: roles.value, exp, iat }
}

// quirk: reference document 6.2: in required_claims these names mean the header, and `sig` means nothing
const IN_HEADER: ReadonlyMap<string, (header: TokenHeader) => unknown> = new Map([
  ['typ', ({ typ }: TokenHeader) => typ],
  ['kid', ({ kid }: TokenHeader) => kid],
  ['alg', ({ algorithm }: TokenHeader) => algorithm.name],
])
const ALWAYS_CHECKED = 'sig'

function checkRequired(
  claims: Claims,
  header: TokenHeader,
  required: readonly RequiredClaim[],
): ClaimProblem | undefined {
  for (const { name, value } of required) {
    if (name === ALWAYS_CHECKED) continue
    const inHeader = IN_HEADER.get(name)
    const found = inHeader ? inHeader(header) : findMember(claims, name)
    const place = inHeader ? 'header' : 'claim'
    if (found === undefined) return { code: 'missing', name, place }
    if (value !== undefined && !isEqual(name, found, value)) return { code: 'invalid', name, place }
  }
  return undefined
}

const isEqual = (name: string, found: unknown, value: string): boolean =>
  found === value || (name === 'aud' && Array.isArray(found) && found.includes(value))

function checkTimes(claims: Claims, nowSeconds: number): ClaimProblem | undefined {
  for (const name of ['iat', 'nbf', 'exp']) {
    const isPresent = findMember(claims, name) !== undefined
    if (isPresent && findNumber(claims, name) === undefined) return { code: 'invalid', name, place: 'claim' }
  }
  const [nbf, exp] = [findNumber(claims, 'nbf'), findNumber(claims, 'exp')]
  if (nbf !== undefined && nbf > nowSeconds) return { code: 'not_yet_valid' }
  return exp !== undefined && exp <= nowSeconds ? { code: 'expired' } : undefined
}

/** A finite number: JSON.parse reads 1e999 as infinity. */
export function findNumber(claims: Claims, name: string): number | undefined {
  const value = findMember(claims, name)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

type ClaimReading<T> = { readonly kind: 'read'; readonly value: T } | RefusedClaims

const refuseClaims = (problem: ClaimProblem): RefusedClaims => ({ kind: 'refused', problem })
const MALFORMED_ROLES = Object.freeze(refuseClaims({ code: 'malformed_roles' }))

/** Splits `roles_claim_path` at its dots; `\.` is a dot inside a name, and nothing else is an escape. */
export const readClaimPath = (path: string): ClaimPlace => ({
  kind: 'path',
  segments: path.split(/(?<!\\)\./).map((segment) => segment.replaceAll('\\.', '.')),
})

function readRoles(claims: Claims, { roles: place, isRole }: DocumentClaimRules): ClaimReading<readonly string[]> {
  const found = place.kind === 'path' ? followPath(claims, place.segments) : readTopLevel(claims, place.name)
  if (found.kind === 'refused') return found
  const roles = typeof found.value === 'string' ? splitRoles(found.value) : found.value
  if (!Array.isArray(roles)) return MALFORMED_ROLES
  const isGood = roles.every((role) => typeof role === 'string' && isRole(role))
  return isGood ? { kind: 'read', value: roles } : MALFORMED_ROLES
}

/** The value at the place; `undefined`: there is none. */
export function findClaim(claims: Claims, place: ClaimPlace): unknown {
  if (place.kind === 'claim') return findMember(claims, place.name)
  const found = followPath(claims, place.segments)
  return found.kind === 'refused' ? undefined : found.value
}

function readTopLevel(claims: Claims, name: string): ClaimReading<unknown> {
  const value = findMember(claims, name)
  return { kind: 'read', value: value === undefined ? [] : value }
}

function followPath(claims: Claims, segments: readonly string[]): ClaimReading<unknown> {
  let value: unknown = claims
  for (const segment of segments) {
    if (!isJsonObject(value)) return refuseClaims({ code: 'roles_mismatch' })
    value = findMember(value, segment)
    if (value === undefined) return refuseClaims({ code: 'missing_roles', segment })
  }
  return { kind: 'read', value }
}

function splitRoles(text: string): readonly string[] {
  const roles = text.split(',').map((role) => role.trim())
  // empty roles at the end are dropped; others are rejected by isRole
  return roles.slice(0, roles.findLastIndex((role) => role !== '') + 1)
}

function readSubject(claims: Claims, isName: (name: string) => boolean): ClaimReading<string> {
  const name = findMember(claims, 'sub')
  if (name === undefined || name === '') return refuseClaims({ code: 'missing_sub' })
  const isGood = typeof name === 'string' && isName(name)
  return isGood ? { kind: 'read', value: name } : refuseClaims({ code: 'invalid', name: 'sub', place: 'claim' })
}
