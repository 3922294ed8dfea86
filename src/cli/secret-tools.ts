// Creates and lists the secrets of tokens. Never shows one.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { replaceFile } from '../base/files.ts'
import type { Config } from '../config/options.ts'
import { sha256Hex } from '../keys/ring.ts'
import { readSecret, type Secret } from '../keys/secret.ts'
import { loadSecretRing, trim } from '../keys/secret-files.ts'
import { describeFileError, listSecretFiles, loadSmallFile } from '../keys/secret-folder.ts'
import { toSecretSource } from '../live-config/secret-rings.ts'

/** Why a command failed, as a message. */
export class SecretProblem extends Error {
  override readonly name = 'SecretProblem'
  /** Whether a file exists that must not be overwritten. */
  readonly isConflict: boolean
  constructor(message: string, isConflict = false) {
    super(message)
    this.isConflict = isConflict
  }
}

export type SecretKind = 'HS256' | 'ES256'

/** 32 bytes are 64 hexadecimal digits: the longest secret that ArangoDB accepts. */
export const SECRET_BYTES = { least: 16, most: 32 }

/** The text of a new secret: random bytes in hexadecimal digits, or a private key in PEM. */
export function createSecretText(kind: SecretKind, bytes: number = SECRET_BYTES.most): string {
  if (kind === 'HS256') return randomBytes(bytes).toString('hex')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim()
}

export interface MadeSecret {
  readonly path: string
  readonly kind: SecretKind
  readonly sha256: string
}

/** Creates a file that only its owner can read. An existing file is never overwritten. */
export function createSecretFile(path: string, kind: SecretKind, bytes?: number): MadeSecret {
  if (existsSync(path)) throw new SecretProblem(`${path} is there already: nothing was changed.`, true)
  const text = createSecretText(kind, bytes)
  try {
    replaceFile(path, text)
  } catch (error) {
    throw new SecretProblem(`${path} cannot be written: ${describeFileError(error)}`)
  }
  return { path, kind, sha256: sha256Hex(Buffer.from(text)) }
}

export interface ListedSecret {
  /** Name of the file or of the option. */
  readonly name: string
  /** `active` signs and verifies, `passive` only verifies, `unused` does neither. */
  readonly use: 'active' | 'passive' | 'unused'
  readonly kind: SecretKind | undefined
  readonly sha256: string
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

export async function listFolder(folder: string): Promise<readonly ListedSecret[]> {
  const { files } = await listSecretFiles(folder)
  const listed: ListedSecret[] = []
  for (const { name, path } of files) {
    const bytes = trim(await loadSmallFile(path))
    const secret = readSecret(bytes)
    const use = listed.length === 0 ? 'active' : KINDS[secret.kind] ? 'passive' : 'unused'
    listed.push({ name, use, kind: kindOf(secret), sha256: sha256Hex(bytes) })
  }
  return listed
}

/** Whether a secret of this kind verifies tokens. */
const KINDS = { signer: true, public: true, empty: false, too_long: false, not_ec: false } as const

function kindOf(secret: Secret): SecretKind | undefined {
  if (secret.kind === 'signer') return secret.signer.key.alg
  return secret.kind === 'public' ? 'ES256' : undefined
}
