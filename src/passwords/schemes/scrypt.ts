import { type ScryptOptions, scrypt, scryptSync } from 'node:crypto'
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

/** scrypt (RFC 7914) in the PHC format. Salt and hash are unpadded base64. */
export interface ScryptPassword extends StoredHash {
  readonly scheme: 'scrypt'
  /** The binary logarithm of N. */
  readonly logN: number
  readonly r: number
  readonly p: number
  readonly hashBytes: number
}

const NAME = 'scrypt'
const ENCODED =
  /^\$scrypt\$ln=(?<logN>[1-9]\d?),r=(?<r>[1-9]\d{0,2}),p=(?<p>[1-9]\d{0,4})\$(?<salt>[A-Za-z0-9+/]+)\$(?<hash>[A-Za-z0-9+/]+)$/
/** N times r times p: twice what OWASP recommends. */
const MAX_STEPS = 2 ** 21
/** N=2^17, r=8, p=1. */
const OWASP_STEPS = 2 ** 20

const toBytes = (logN: number, r: number): number => 128 * 2 ** logN * r

const DECOY_SALT = 'salt of a decoy'
const SAMPLE = { logN: 12, r: 8, p: 1 }
// promisify takes the first overload, which is the one without options
const scryptAsync = promisify<string, string | Buffer, number, ScryptOptions, Buffer>(scrypt)

const toOptions = ({ logN, r, p }: Pick<ScryptPassword, 'logN' | 'r' | 'p'>): ScryptOptions => ({
  N: 2 ** logN,
  r,
  p,
  // OpenSSL counts some blocks more than those of N
  maxmem: toBytes(logN, r) + 128 * r * (p + 2) + 1024 * 1024,
})

/** A step is one of the p rounds. */
const units = createNamedUnits(
  /^scrypt ln=(?<logN>\d+) r=(?<r>\d+)$/,
  ({ logN, r }) => ({ logN: Number(logN), r: Number(r) }),
  (cost, amount) => scryptAsync('decoy', DECOY_SALT, 64, toOptions({ ...cost, p: amount })),
  ({ logN, r }) => ({
    name: NAME,
    steps: (2 ** SAMPLE.logN * SAMPLE.r) / (2 ** logN * r),
    compute: () => scryptSync('decoy', DECOY_SALT, 64, toOptions(SAMPLE)),
  }),
)

export const SCRYPT = {
  name: NAME,
  members: [ENCODED_MEMBER],
  isDocumentScheme: false,
  read(members: PasswordMembers): ScryptPassword | PasswordFlaw {
    const parts = readEncoded(members, ENCODED, 1)
    if (!parts) return 'encoding'
    const { groups, ...stored } = parts
    const { logN, r, p } = groups
    const cost = { logN: Number(logN), r: Number(r), p: Number(p) }
    // RFC 7914: N is less than 2^(128 * r / 8)
    if (cost.logN >= 16 * cost.r) return 'encoding'
    return isTooExpensive(cost) ? 'too_expensive' : { scheme: NAME, ...cost, ...stored }
  },
  write: ({ logN, r, p, salt, hash }) => ({
    password_scheme: NAME,
    [ENCODED_MEMBER]: `$scrypt$ln=${logN},r=${r},p=${p}$${salt}$${hash}`,
  }),
  compute: async (clear, { salt, hashBytes, ...cost }) =>
    encodeBase64(await scryptAsync(clear, Buffer.from(salt, 'base64'), hashBytes, toOptions(cost))),
  units,
  findWork: ({ logN, r, p }) => ({ unit: `scrypt ln=${logN} r=${r}`, amount: p }),
  toStrength: ({ logN, r, p }) => toImportedStrength(2 ** logN * r * p, OWASP_STEPS),
  describe: ({ logN, r, p }) => `scrypt N=${2 ** logN} r=${r} p=${p}`,
} satisfies PasswordScheme<ScryptPassword>

const isTooExpensive = ({ logN, r, p }: Pick<ScryptPassword, 'logN' | 'r' | 'p'>): boolean =>
  toBytes(logN, r) > MAX_MEMORY_KIB * 1024 || 2 ** logN * r * p > MAX_STEPS
