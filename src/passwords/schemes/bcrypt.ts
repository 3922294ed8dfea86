import { createRequire } from 'node:module'
import type { WorkUnits } from '../hash-work.ts'
import { ENCODED_MEMBER, matchEncoded, toImportedStrength } from './encoded.ts'
import type { PasswordFlaw, PasswordMembers, PasswordScheme, StoredHash } from './scheme.ts'

/** bcrypt reads only the first 72 bytes of a password. Salt and hash are in its own base64. */
export interface BcryptPassword extends StoredHash {
  readonly scheme: 'bcrypt'
  readonly version: '2a' | '2b' | '2y'
  /** The binary logarithm of the rounds. */
  readonly cost: number
}

const NAME = 'bcrypt'
const ENCODED = /^\$(?<version>2[aby])\$(?<cost>\d\d)\$(?<salt>[./A-Za-z0-9]{22})(?<hash>[./A-Za-z0-9]{31})$/
const HASH_CHARACTERS = 31
const MIN_COST = 4
/** One or two seconds. */
const MAX_COST = 14
const OWASP_ROUNDS = 2 ** 10

const require = createRequire(import.meta.url)

/** Loaded with the first use: most servers have no bcrypt hash, and loading takes 10 ms of CPU time. */
const loadBcrypt = (): typeof import('bcrypt') => require('bcrypt')

const toSetting = (version: string, cost: number, salt: string): string =>
  `$${version}$${String(cost).padStart(2, '0')}$${salt}`

const UNIT = NAME
const SAMPLE_COST = 5

/** A step is one round. */
const units: WorkUnits = {
  includes: (unit) => unit === UNIT,
  async spend({ amount }) {
    const hashes: string[] = []
    // one computation takes a power of two; several together take any number of rounds
    for (let cost = MIN_COST; 2 ** cost <= amount; cost += 1) {
      if (Math.floor(amount / 2 ** cost) % 2 === 1) hashes.push(await loadBcrypt().hash('decoy', cost))
    }
    return hashes
  },
  findSample: (unit) =>
    unit === UNIT
      ? { name: NAME, steps: 2 ** SAMPLE_COST, compute: () => loadBcrypt().hashSync('decoy', SAMPLE_COST) }
      : undefined,
}

export const BCRYPT = {
  name: NAME,
  members: [ENCODED_MEMBER],
  isDocumentScheme: false,
  read(members: PasswordMembers): BcryptPassword | PasswordFlaw {
    const { version, cost: digits, salt = '', hash = '' } = matchEncoded(members, ENCODED) ?? {}
    const cost = Number(digits)
    if (!isVersion(version) || cost < MIN_COST) return 'encoding'
    return cost > MAX_COST ? 'too_expensive' : { scheme: NAME, version, cost, salt, hash }
  },
  write: ({ version, cost, salt, hash }) => ({
    password_scheme: NAME,
    [ENCODED_MEMBER]: `${toSetting(version, cost, salt)}${hash}`,
  }),
  async compute(clear, { version, cost, salt }) {
    // 2y is what PHP calls 2b; the library knows only the latter
    const encoded = await loadBcrypt().hash(clear, toSetting(version === '2y' ? '2b' : version, cost, salt))
    return encoded.slice(-HASH_CHARACTERS)
  },
  units,
  findWork: ({ cost }) => ({ unit: UNIT, amount: 2 ** cost }),
  toStrength: ({ cost }) => toImportedStrength(2 ** cost, OWASP_ROUNDS),
  describe: ({ cost }) => `bcrypt ${cost}`,
} satisfies PasswordScheme<BcryptPassword>

const isVersion = (text: string | undefined): text is BcryptPassword['version'] =>
  text === '2a' || text === '2b' || text === '2y'
