// not by name: an older Node would fail on it before Cardea can say which Node it needs
import crypto from 'node:crypto'
import { promisify } from 'node:util'
import {
  createNamedUnits,
  ENCODED_MEMBER,
  encodeBase64,
  MAX_MEMORY_KIB,
  readEncoded,
  toImportedStrength,
} from './encoded.ts'
import type { PasswordFlaw, PasswordMembers, PasswordScheme, StoredHash } from './scheme.ts'

/** Argon2id, version 19 (RFC 9106). Salt and hash are unpadded base64. */
export interface Argon2idPassword extends StoredHash {
  readonly scheme: 'argon2id'
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
  readonly hashBytes: number
}

const NAME = 'argon2id'
const ENCODED =
  /^\$argon2id\$v=19\$m=(?<memory>[1-9]\d{0,9}),t=(?<passes>[1-9]\d{0,9}),p=(?<lanes>[1-9]\d{0,4})\$(?<salt>[A-Za-z0-9+/]+)\$(?<hash>[A-Za-z0-9+/]+)$/
const MAX_LANES = 16
/** KiB times passes: 1 GiB filled once, or 64 MiB filled 16 times. */
const MAX_STEPS = 1024 * 1024
/** m=19456, t=2. */
const OWASP_STEPS = 19_456 * 2

const DECOY = { message: 'decoy', nonce: 'salt of a decoy', tagLength: 32 }
const SAMPLE = { memory: 4096, passes: 1, parallelism: 1 }
const argon2Async = promisify(crypto.argon2)

/** A step is one pass over the memory. */
const units = createNamedUnits(
  /^argon2id m=(?<memory>\d+) p=(?<lanes>\d+)$/,
  ({ memory, lanes }) => ({ memory: Number(memory), parallelism: Number(lanes) }),
  (cost, amount) => argon2Async(NAME, { ...DECOY, ...cost, passes: amount }),
  ({ memory }) => ({
    name: NAME,
    steps: SAMPLE.memory / memory,
    compute: () => crypto.argon2Sync(NAME, { ...DECOY, ...SAMPLE }),
  }),
)

export const ARGON2ID = {
  name: NAME,
  members: [ENCODED_MEMBER],
  isDocumentScheme: false,
  read(members: PasswordMembers): Argon2idPassword | PasswordFlaw {
    const parts = readEncoded(members, ENCODED, 8)
    if (!parts) return 'encoding'
    const { groups, ...stored } = parts
    const { memory, passes, lanes } = groups
    const cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) }
    if (cost.memoryKib < 8 * cost.lanes) return 'encoding'
    return isTooExpensive(cost) ? 'too_expensive' : { scheme: NAME, ...cost, ...stored }
  },
  write: ({ memoryKib, passes, lanes, salt, hash }) => ({
    password_scheme: NAME,
    [ENCODED_MEMBER]: `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${salt}$${hash}`,
  }),
  async compute(clear, { memoryKib, passes, lanes, salt, hashBytes }) {
    const nonce = Buffer.from(salt, 'base64')
    const cost = { memory: memoryKib, passes, parallelism: lanes, tagLength: hashBytes }
    return encodeBase64(await argon2Async(NAME, { message: clear, nonce, ...cost }))
  },
  units,
  findWork: ({ memoryKib, passes, lanes }) => ({ unit: `argon2id m=${memoryKib} p=${lanes}`, amount: passes }),
  toStrength: ({ memoryKib, passes }) => toImportedStrength(memoryKib * passes, OWASP_STEPS),
  describe: ({ memoryKib, passes, lanes }) => `argon2id m=${memoryKib} t=${passes} p=${lanes}`,
} satisfies PasswordScheme<Argon2idPassword>

const isTooExpensive = ({ memoryKib, passes, lanes }: Pick<Argon2idPassword, 'memoryKib' | 'passes' | 'lanes'>) =>
  memoryKib > MAX_MEMORY_KIB || lanes > MAX_LANES || memoryKib * passes > MAX_STEPS
