/** An identity provider, as the credentials and the sign-in page use it. */

import { isRole } from '../../auth/handler.ts'
import { findMember } from '../../base/json.ts'
import { foldCase } from '../../directory/users/search-entries.ts'
import {
  type Claims,
  type FoundKeys,
  type ReadToken,
  type RefusedToken,
  type TokenHeader,
  type TokenRules,
  toRefusedToken,
  type VerifiedToken,
  verifyRead,
} from '../../keys/verify.ts'
import type { LOGOUT_TOKEN_TYPES, ProviderClaimRules } from './claims.ts'
import type { ProviderKeys, ProviderPlace } from './keys.ts'

export interface Provider {
  readonly name: string
  readonly keys: Pick<ProviderKeys, 'get' | 'renew' | 'isFailing' | 'check'>
  readonly algorithms: readonly string[]
  readonly rules: Omit<ProviderClaimRules, 'nowSeconds'>
  /** Who a token is. */
  readonly users: 'link' | 'create' | 'asserted'
  /** Whether asserted users have the names that the provider gives, without its prefix. */
  readonly keepsNames: boolean
  readonly roleMap: readonly string[]
  /** How browsers sign in at it; `undefined`: they cannot. */
  readonly client?: ProviderClient | undefined
}

interface ProviderClient {
  readonly place: ProviderPlace
  /** What the sign-in page calls the provider. */
  readonly label: string
  /** Empty: the client is public. */
  readonly secret: string
  readonly scopes: readonly string[]
  readonly logoutTokenType: keyof typeof LOGOUT_TOKEN_TYPES
}

/** By each accepted issuer. */
export type Providers = ReadonlyMap<string, Provider>

const readPairs = (roleMap: readonly string[]): ReadonlyMap<string, string> =>
  new Map(
    roleMap
      .filter((item) => item !== '*')
      .map((item) => item.split('=').map((part) => part.trim()) as [string, string]),
  )

/** The role names here of what the provider calls roles. */
export function mapRoles({ roleMap }: Pick<Provider, 'roleMap'>, roles: readonly string[]): readonly string[] {
  const pairs = readPairs(roleMap)
  const keepsOthers = roleMap.includes('*')
  const mapped = roles.flatMap((role) => pairs.get(role) ?? (keepsOthers && !role.startsWith('_') ? role : []))
  return Object.freeze([...new Set(mapped)].filter(isRole))
}

/** Whether the map can make a role. Case is ignored, as in searches: a role may be the key of its search entry. */
export function createRoleMapCheck(provider: Pick<Provider, 'roleMap'>): (role: string) => boolean {
  const named = new Set(mapRoles(provider, [...readPairs(provider.roleMap).keys()]).map(foldCase))
  return (role) => named.has(foldCase(role)) || mapRoles(provider, [role]).includes(role)
}

/**
 * Why a sign-in at a provider is not enough for a user with these roles. It counts for all: also those who have a second
 * factor here, because the provider does not ask for it.
 */
export function checkFactor(
  { roles, hasFactor }: { readonly roles: readonly string[]; readonly hasFactor: boolean },
  factorRoles: readonly string[],
): string | undefined {
  const role = hasFactor ? undefined : roles.find((each) => factorRoles.includes(each))
  return role && `the role ${role} needs a second factor, and the provider does not say that it asked for one`
}

/**
 * Verifies a token with the keys of this provider alone. A key that is not known yet is fetched, and the token verified
 * again. `undefined`: the keys cannot be fetched, so nothing is known about the token.
 */
export function verifyWithProvider(
  read: ReadToken | RefusedToken,
  provider: Provider,
  types: TokenRules['types'],
): VerifiedToken | RefusedToken | Promise<VerifiedToken | RefusedToken | undefined> {
  const rules: TokenRules = { types, findKeys: (_, header, claims) => findKeys(provider, header, claims) }
  const token = verifyRead(read, rules)
  return isUnknownKey(token) ? verifyRenewed(read, provider, rules) : token
}

const isUnknownKey = (token: VerifiedToken | RefusedToken): boolean =>
  token.kind === 'refused' && token.reason === 'unknown_kid'

async function verifyRenewed(read: ReadToken | RefusedToken, { keys }: Provider, rules: TokenRules) {
  await keys.renew()
  const token = verifyRead(read, rules)
  // the unknown key may be one that the provider began to use since it was last reached
  return isUnknownKey(token) && keys.isFailing() ? undefined : token
}

/** Only a header that may be right makes Cardea fetch keys: `unknown_kid` is the last refusal. */
function findKeys({ keys, algorithms }: Provider, header: TokenHeader, claims: Claims): FoundKeys {
  if (header.hasOwnKey) return toRefusedToken('own_key')
  if (!algorithms.includes(header.algorithm.name)) return toRefusedToken('invalid_alg')
  return keys.get()?.find(header, findMember(claims, 'iss')) ?? toRefusedToken('unknown_kid')
}
