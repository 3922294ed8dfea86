/**
 * Why secrets cannot be used: in ArangoDB's words for its HTTP API, and in plain words with the file for the operator.
 */
import type { Secret } from './secret.ts'
import { describeFileError } from './secret-folder.ts'

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

const refuse = (errorNum: number, message: string, reason: string = message): RingProblem => ({
  kind: 'refused',
  errorNum,
  message,
  reason,
})

export const refuseBoth = (): RingProblem => refuse(BAD_PARAMETER, BOTH)

const BOTH = "please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both."

export const refuseNoFile = (): RingProblem => refuse(BAD_PARAMETER, 'no JWT secret file was specified')

export const refuseChanging = (folder: string): RingProblem =>
  refuse(CANNOT_READ_FILE, `jwt-secret-folder '${folder}' keeps changing while it is read`)

export const refuseEmpty = (folder: string): RingProblem =>
  refuse(BAD_PARAMETER, EMPTY_FOLDER, `the folder of secrets '${folder}' contains no secret file`)

const EMPTY_FOLDER = 'empty JWT secrets directory'

// quirk: reference multi-model 6.3: the message names arangod
const TAIL = 'please make sure the file/directory is readable for the arangod process and user'

export const refuseFile = (path: string, error: unknown): RingProblem =>
  refuseRead('jwt-secret file', `the secret file '${path}'`, { path, error })

export const refuseFolder = (path: string, error: unknown): RingProblem =>
  refuseRead('jwt-secret-folder', `the folder of secrets '${path}'`, { path, error })

function refuseRead(
  arangoName: string,
  name: string,
  { path, error }: { readonly path: string; readonly error: unknown },
): RingProblem {
  const why = describeFileError(error)
  const message = `unable to read content of ${arangoName} '${path}': ${why}. ${TAIL}`
  return refuse(CANNOT_READ_FILE, message, `${name} cannot be read: ${why}`)
}

export const NO_USABLE_KEY = 'no usable key: expected one unencrypted EC key on the curve P-256, in PEM'
const NOT_EC = 'PEM file detected but does not contain a valid EC key'
const PRIVATE_NEEDED = 'but a private key is required for signing JWT tokens needed for intra-cluster communication'
const KEYFILE_IS_PUBLIC = `JWT secret keyfile contains an ES256 public key, ${PRIVATE_NEEDED}`
const FIRST_IS_PUBLIC = `First JWT secret file (active secret) contains an ES256 public key, ${PRIVATE_NEEDED}. Public keys can only be used as passive secrets for verification.`

export function refuseSecret(
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
  return refuse(BAD_PARAMETER, message, reason)
}
