// Lists the secrets of the multi-model door, and creates and inspects tokens with them, without a server.
import { readUtf8 } from '../base/encoding.ts'
import { readJsonObject } from '../base/json.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { type MultiModelFlaw, readMultiModelClaims } from '../keys/multi-model-claims.ts'
import { type ListedSecret, listFolder, SecretProblem } from '../keys/new-secret.ts'
import { type KeyRing, signWithRing, verifyWithRing } from '../keys/ring.ts'
import { loadSecretRing } from '../keys/secret-files.ts'
import type { TokenReason } from '../keys/verify.ts'
import { toSecretSource } from '../live-config/secret-rings.ts'
import { EXIT, ExitError } from './context.ts'

/** Runs the work of a command. A problem of secrets ends it with an exit code. */
export async function withSecretProblems(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof SecretProblem)) throw error
    throw new ExitError(error.isConflict ? EXIT.conflict : EXIT.failed, error.message)
  }
}

/** The secrets a server with this configuration would load. Empty: it would create a random one. */
export async function listSecrets(config: Config): Promise<readonly ListedSecret[]> {
  const source = toSecretSource(config)
  const load = await loadSecretRing(source)
  if (load.kind === 'refused') throw new SecretProblem(load.reason)
  if (load.source === 'folder' && source.folder) return listFolder(source.folder)
  const { key, sha256 } = load.ring.signing
  const name = load.source === 'keyfile' ? (source.keyfile ?? '') : 'server.jwt-secret'
  return load.source === 'random' ? [] : [{ name, use: 'active', kind: key.alg, sha256 }]
}

export interface NewToken {
  /** `undefined`: a superuser token. */
  readonly user: string | undefined
  readonly serverId: string
  /** `undefined`: it never expires. */
  readonly lifetimeSeconds: number | undefined
  readonly paths: readonly string[]
  readonly nowSeconds: number
}

const toIssuer = (config: Config): string => toWireNames(config).issuer

async function loadRing(config: Config): Promise<KeyRing> {
  const load = await loadSecretRing(toSecretSource(config))
  if (load.kind === 'refused') throw new SecretProblem(load.reason)
  if (load.source !== 'random') return load.ring
  throw new SecretProblem(
    'No secret of tokens is configured, so none of yours would be accepted: see --server.jwt-secret-keyfile and -folder.',
  )
}

/** Signed with the current secret. */
export async function createToken(config: Config, token: NewToken): Promise<string> {
  const { user, serverId, lifetimeSeconds, paths, nowSeconds } = token
  const ring = await loadRing(config)
  return signWithRing(ring, {
    ...(user === undefined ? {} : { preferred_username: user }),
    iss: toIssuer(config),
    ...(user === undefined ? { server_id: serverId } : {}),
    iat: nowSeconds,
    ...(lifetimeSeconds === undefined ? {} : { exp: nowSeconds + lifetimeSeconds }),
    ...(paths.length === 0 ? {} : { allowed_paths: paths }),
  })
}

export interface ShownToken {
  /** The claims of the token; `undefined` if they cannot be read. */
  readonly header: unknown
  readonly claims: unknown
  /** Why the door would reject it; `undefined`: its signature and claims are valid. */
  readonly problem: string | undefined
}

export async function showToken(config: Config, text: string, nowSeconds: number): Promise<ShownToken> {
  const [header, claims] = text.split('.').map(readPart)
  return { header, claims, problem: await findProblem(config, text, nowSeconds) }
}

const readPart = (part: string): unknown => readJsonObject(readUtf8(Buffer.from(part, 'base64url')) ?? '')

async function findProblem(config: Config, text: string, nowSeconds: number): Promise<string | undefined> {
  const token = verifyWithRing(text, await loadRing(config))
  if (token.kind === 'refused') return TOKEN_PROBLEMS[token.reason]
  const reading = readMultiModelClaims(token.claims, { issuer: toIssuer(config), nowSeconds })
  return reading.kind === 'refused' ? CLAIM_PROBLEMS[reading.reason](toIssuer(config)) : undefined
}

const TOKEN_PROBLEMS: Readonly<Record<TokenReason, string>> = {
  malformed: 'it is not three parts of canonical base64url, or a part is not JSON that names each member once',
  not_an_object: 'its claims are not an object',
  missing_alg: 'its header has no alg',
  invalid_alg: 'there is no key for its alg',
  crit: 'its header asks for an extension (crit)',
  invalid_typ: 'its header must have the typ JWT',
  unknown_kid: 'there is no key for its kid',
  invalid_kid: 'its kid is not text',
  own_key: 'its header brings or names a key of its own',
  bad_key: 'the key cannot be used',
  bad_mac: 'none of the secrets signed it',
  bad_signature: 'none of the keys signed it',
}

const CLAIM_PROBLEMS: Readonly<Record<MultiModelFlaw, (issuer: string) => string>> = {
  iss: (issuer) => `its iss must be ${issuer}`,
  preferred_username: () => 'its preferred_username must be text, and not empty',
  server_id: () => 'its server_id must be text',
  no_identity: () => 'it has neither preferred_username nor server_id',
  exp: () => 'its exp must be a number',
  expired: () => 'it has expired',
  allowed_paths: () => 'its allowed_paths must be a list of paths, and not empty',
}
