/**
 * Loads the secrets of the multi-model door from an option, a file or a folder: a whole key ring, or one problem.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createRing, type KeyRing, type RingKey } from './ring.ts'
import {
  type CreateBytes,
  createRandomSecret,
  readSecret,
  readSecretFile,
  type Secret,
  SHORT_SECRET_BYTES,
} from './secret.ts'
import {
  describeFileError,
  type FolderListing,
  listSecretFiles,
  loadSmallFile,
  SecretFileError,
} from './secret-folder.ts'

export interface SecretSource {
  readonly secret?: string | undefined
  readonly keyfile?: string | undefined
  readonly folder?: string | undefined
}

export interface LoadedRing {
  readonly kind: 'ring'
  readonly ring: KeyRing
  /** `random`: none is configured; the ring is lost when the process ends. */
  readonly source: 'folder' | 'keyfile' | 'secret' | 'random'
  readonly warnings: readonly RingWarning[]
}

export interface RingWarning {
  readonly text: string
  /** SHA-256 of the secret, so that a reload does not repeat the warning. */
  readonly secret?: string
}

export type RingLoad = LoadedRing | RingProblem

/** The ring to start with. Files win over an inline secret; without both, a secret is created of random bytes. */
export async function loadSecretRing(from: SecretSource, createBytes: CreateBytes = randomBytes): Promise<RingLoad> {
  if (from.keyfile && from.folder) return toRingProblem(BAD_PARAMETER, BOTH)
  if (from.keyfile || from.folder) return withInlineWarning(from, await reloadSecretRing(from))
  if (from.secret) return toInlineRing(Buffer.from(from.secret), 'secret')
  return toInlineRing(createRandomSecret(createBytes), 'random')
}

/** The ring of the files now. An inline or random secret cannot be reloaded. */
export async function reloadSecretRing({ keyfile, folder }: SecretSource): Promise<RingLoad> {
  if (folder) return loadFolder(folder)
  return keyfile ? loadKeyfile(keyfile) : toRingProblem(BAD_PARAMETER, 'no JWT secret file was specified')
}

function withInlineWarning({ secret }: SecretSource, load: RingLoad): RingLoad {
  if (!secret || load.kind === 'refused') return load
  const text = 'server.jwt-secret is not used: the secrets come from files'
  return { ...load, warnings: [...load.warnings, { text }] }
}

function toInlineRing(bytes: Buffer, source: 'secret' | 'random'): RingLoad {
  const read = readSecret(bytes)
  if (read.kind !== 'signer') return refuseSecret(read, 'server.jwt-secret')
  return { kind: 'ring', ring: createRing(read.signer), source, warnings: warnShort(read, 'server.jwt-secret') }
}

async function loadKeyfile(path: string): Promise<RingLoad> {
  const bytes = await loadBytes(path, path)
  if ('kind' in bytes) return bytes
  const read = readSecretFile(bytes)
  if (read.kind !== 'signer') return refuseSecret(read, path)
  return { kind: 'ring', ring: createRing(read.signer), source: 'keyfile', warnings: warnShort(read, path) }
}

async function loadBytes(path: Buffer | string, shown: string): Promise<Buffer | RingProblem> {
  try {
    return await loadSmallFile(path)
  } catch (error) {
    return refuseFile(shown, error)
  }
}

function warnShort(read: Secret, place: string): readonly RingWarning[] {
  if (read.kind !== 'signer' || !read.isShort) return []
  const text = `the JWT secret of '${place}' is shorter than ${SHORT_SECRET_BYTES} bytes and can be guessed from a token`
  return [{ text, secret: read.signer.sha256 }]
}

const MAX_TRIES = 5

/** Reads a folder again if it changed meanwhile: a mounted secret may be replaced while its files are read. */
async function loadFolder(folder: string): Promise<RingLoad> {
  let before = await list(folder)
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const load = 'errorNum' in before ? before : await loadListed(before, folder)
    const after = await list(folder)
    if (stateOf(before) === stateOf(after)) return load
    before = after
  }
  return toRingProblem(CANNOT_READ_FILE, `jwt-secret-folder '${folder}' keeps changing while it is read`)
}

async function list(folder: string): Promise<FolderListing | RingProblem> {
  try {
    return await listSecretFiles(folder)
  } catch (error) {
    if (error instanceof SecretFileError) return refuseFile(error.path, error.cause)
    return refuseRead('jwt-secret-folder', 'the folder of secrets', folder, error)
  }
}

const stateOf = (listing: FolderListing | RingProblem): string =>
  'errorNum' in listing ? listing.message : listing.files.map(({ name, state }) => `${name}\n${state}`).join('\n')

interface NamedSecret {
  readonly path: string
  readonly secret: Secret
}

async function loadListed({ files, warnings }: FolderListing, folder: string): Promise<RingLoad> {
  const secrets: NamedSecret[] = []
  for (const { path, name } of files) {
    const shown = join(folder, name)
    const bytes = await loadBytes(path, shown)
    if ('kind' in bytes) return bytes
    secrets.push({ path: shown, secret: readSecretFile(bytes) })
  }
  const [active, ...others] = secrets
  if (active) return toFolderRing(active, others, warnings)
  const reason = `the folder of secrets '${folder}' contains no secret file`
  return toRingProblem(BAD_PARAMETER, 'empty JWT secrets directory', reason)
}

function toFolderRing(active: NamedSecret, others: readonly NamedSecret[], warnings: readonly string[]): RingLoad {
  if (active.secret.kind !== 'signer') return refuseSecret(active.secret, active.path, 'first of a folder')
  const long = others.find(({ secret }) => secret.kind === 'too_long')
  if (long?.secret.kind === 'too_long') return refuseSecret(long.secret, long.path)
  const all = [...warnings.map((text) => ({ text })), ...[active, ...others].flatMap(warnAbout)]
  const ring = createRing(
    active.secret.signer,
    others.flatMap(({ secret }) => toRingKeys(secret)),
  )
  return { kind: 'ring', ring, source: 'folder', warnings: all }
}

/** A key that only verifies. Empty files and PEM files without an EC key are ignored. */
function toRingKeys(secret: Secret): readonly RingKey[] {
  if (secret.kind === 'signer') return [{ key: secret.signer.key.verifying, sha256: secret.signer.sha256 }]
  return secret.kind === 'public' ? [secret.key] : []
}

const warnAbout = ({ secret, path }: NamedSecret): readonly RingWarning[] =>
  secret.kind === 'not_ec' ? [{ text: `'${path}' is ignored: ${NO_USABLE_KEY}` }] : warnShort(secret, path)

/** Why secrets cannot be used: in ArangoDB's words for its HTTP API, and in plain words with the file for the operator. */
export interface RingProblem {
  readonly kind: 'refused'
  /** Number and message of ArangoDB, for its HTTP API. */
  readonly errorNum: number
  readonly message: string
  /** What is wrong and where, for the operator. */
  readonly reason: string
}

const BAD_PARAMETER = 10
const CANNOT_READ_FILE = 34

const toRingProblem = (errorNum: number, message: string, reason: string = message): RingProblem => ({
  kind: 'refused',
  errorNum,
  message,
  reason,
})

const BOTH = "please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both."

// quirk: reference multi-model 6.3: the message names arangod
const TAIL = 'please make sure the file/directory is readable for the arangod process and user'

const refuseFile = (path: string, error: unknown): RingProblem =>
  refuseRead('jwt-secret file', 'the secret file', path, error)

function refuseRead(arangoName: string, name: string, path: string, error: unknown): RingProblem {
  const why = describeFileError(error)
  const message = `unable to read content of ${arangoName} '${path}': ${why}. ${TAIL}`
  return toRingProblem(CANNOT_READ_FILE, message, `${name} '${path}' cannot be read: ${why}`)
}

const NO_USABLE_KEY = 'no usable key: expected one unencrypted EC key on the curve P-256, in PEM'
const NOT_EC = 'PEM file detected but does not contain a valid EC key'
const PRIVATE_NEEDED = 'but a private key is required for signing JWT tokens needed for intra-cluster communication'
const KEYFILE_IS_PUBLIC = `JWT secret keyfile contains an ES256 public key, ${PRIVATE_NEEDED}`
const FIRST_IS_PUBLIC = `First JWT secret file (active secret) contains an ES256 public key, ${PRIVATE_NEEDED}. Public keys can only be used as passive secrets for verification.`

function refuseSecret(
  read: Exclude<Secret, { kind: 'signer' }>,
  place: string,
  position: 'only' | 'first of a folder' = 'only',
): RingProblem {
  const messages = {
    empty: [`the JWT secret of '${place}' is empty`, `the secret in '${place}' is empty`],
    too_long: ['Given JWT secret too long. Max length is 64', `the secret in '${place}' is longer than 64 bytes`],
    not_ec: [NOT_EC, `'${place}' has ${NO_USABLE_KEY}`],
    public: [
      position === 'only' ? KEYFILE_IS_PUBLIC : FIRST_IS_PUBLIC,
      `'${place}' contains a public key: tokens are signed with the private key`,
    ],
  } as const satisfies Record<string, readonly [message: string, reason: string]>
  const [message, reason] = messages[read.kind]
  return toRingProblem(BAD_PARAMETER, message, reason)
}
