import { findMember } from '../base/json.ts'
import { findNumber } from './document-claims.ts'
import { type Claims, type Refused, toRefusedToken } from './verify.ts'

interface AnyMultiModelToken {
  readonly exp: number | undefined
  /** Paths it may be used for, each literally; `undefined`: all. */
  readonly allowedPaths: readonly string[] | undefined
}

export interface UserClaims extends AnyMultiModelToken {
  readonly kind: 'user'
  readonly name: string
  readonly iat: number | undefined
  readonly jti: string | undefined
}

export interface SuperuserClaims extends AnyMultiModelToken {
  readonly kind: 'superuser'
  readonly serverId: string
}

/** For the log; never sent to clients. */
export type MultiModelFlaw =
  | 'iss'
  | 'preferred_username'
  | 'server_id'
  | 'no_identity'
  | 'exp'
  | 'expired'
  | 'allowed_paths'

type Identity = Pick<UserClaims, 'kind' | 'name'> | Pick<SuperuserClaims, 'kind' | 'serverId'>

/** The subject of verified claims at the multi-model door. Does not check whether the user exists. */
export function readMultiModelClaims(
  claims: Claims,
  rules: { readonly issuer: string; readonly nowSeconds: number },
): UserClaims | SuperuserClaims | Refused<MultiModelFlaw> {
  if (findMember(claims, 'iss') !== rules.issuer) return toRefusedToken('iss')
  const identity = readIdentity(claims)
  if (identity.kind === 'refused') return identity
  const flaw = checkExpiry(claims, rules.nowSeconds) ?? checkPaths(claims)
  if (flaw) return toRefusedToken(flaw)
  const common = { exp: findNumber(claims, 'exp'), allowedPaths: findPaths(claims) }
  if (identity.kind === 'superuser') return { ...identity, ...common }
  const jti = findMember(claims, 'jti')
  return { ...identity, ...common, iat: findNumber(claims, 'iat'), jti: typeof jti === 'string' ? jti : undefined }
}

/** A token with a user name and a server id counts as the user's. */
function readIdentity(claims: Claims): Identity | Refused<MultiModelFlaw> {
  const [name, serverId] = [findMember(claims, 'preferred_username'), findMember(claims, 'server_id')]
  if (name !== undefined) {
    return typeof name === 'string' && name !== '' ? { kind: 'user', name } : toRefusedToken('preferred_username')
  }
  if (serverId === undefined) return toRefusedToken('no_identity')
  return typeof serverId === 'string' ? { kind: 'superuser', serverId } : toRefusedToken('server_id')
}

function checkExpiry(claims: Claims, nowSeconds: number): MultiModelFlaw | undefined {
  if (findMember(claims, 'exp') === undefined) return undefined
  const exp = findNumber(claims, 'exp')
  if (exp === undefined) return 'exp'
  return exp === 0 || nowSeconds >= exp ? 'expired' : undefined
}

const checkPaths = (claims: Claims): MultiModelFlaw | undefined =>
  findMember(claims, 'allowed_paths') !== undefined && findPaths(claims) === undefined ? 'allowed_paths' : undefined

function findPaths(claims: Claims): readonly string[] | undefined {
  const paths = findMember(claims, 'allowed_paths')
  if (!Array.isArray(paths) || paths.length === 0) return undefined
  return paths.every((path) => typeof path === 'string') ? paths : undefined
}
