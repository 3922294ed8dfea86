import { pbkdf2Sync } from 'node:crypto'
import type { HashWork, WorkUnits } from '../hash-work.ts'
import { createSalt, type Derive, isLowerHex, isPrf, MAX_ITERATIONS, PRFS, type Prf } from '../password-digest.ts'
import {
  type AdminTextForm,
  BAD_ADMIN_SALT,
  type HashParameters,
  isAdminSalt,
  type PasswordFlaw,
  type PasswordMembers,
  type PasswordScheme,
  type StoredHash,
} from './scheme.ts'
import { simpleHash } from './simple.ts'

export interface Iterated extends StoredHash {
  readonly prf: Prf
  readonly iterations: number
}

export interface Pbkdf2Password extends Iterated {
  readonly scheme: 'pbkdf2'
}

/** Derived from the hexadecimal text of the simple hash, with the same salt. */
export interface SimplePbkdf2Password extends Iterated {
  readonly scheme: 'simple+pbkdf2'
}

const DECOY_SALT = createSalt()
const SAMPLE_ITERATIONS = 500

/** The unit is the PRF, a step is one iteration. */
const units: WorkUnits = {
  includes: isPrf,
  async spend({ unit, amount }, derive) {
    return isPrf(unit) && derive('decoy', { prf: unit, iterations: amount, salt: DECOY_SALT })
  },
  findSample(unit) {
    if (!isPrf(unit)) return undefined
    const { digest, bytes } = PRFS[unit]
    const compute = () => pbkdf2Sync('decoy', DECOY_SALT, SAMPLE_ITERATIONS, bytes, digest)
    return { name: unit, steps: SAMPLE_ITERATIONS, compute }
  },
}

/** Iterations that make a guess equally expensive, as the OWASP Password Storage Cheat Sheet recommends them. */
const OWASP_ITERATIONS: Readonly<Record<Prf, number>> = {
  sha: 1_300_000,
  sha224: 600_000,
  sha256: 600_000,
  sha384: 210_000,
  sha512: 210_000,
}

/** The most iterations of a PRF with which a guess costs no more than this strength. */
export const toMaxIterations = (prf: Prf, strength: number): number => Math.floor(OWASP_ITERATIONS[prf] * strength)

type Parameters = Omit<Iterated, 'hash'>

/** What both schemes share: all but the text that is derived from. */
const ITERATED = {
  members: ['pbkdf2_prf', 'salt', 'iterations', 'derived_key'],
  isDocumentScheme: true,
  write: ({ scheme, prf, salt, iterations, hash }: Iterated): PasswordMembers => ({
    password_scheme: scheme,
    pbkdf2_prf: prf,
    salt,
    iterations,
    derived_key: hash,
  }),
  units,
  findWork: ({ prf, iterations }: Parameters): HashWork => ({ unit: prf, amount: iterations }),
  toStrength: ({ prf, iterations }: Parameters): number => iterations / OWASP_ITERATIONS[prf],
  toIterations: ({ iterations }: Parameters): number => iterations,
  describe: ({ scheme, prf, iterations }: Parameters): string => `${scheme} ${prf} ${iterations}`,
  isWellFormed: ({ hash, prf }: Iterated): boolean => isLowerHex(hash, PRFS[prf].bytes),
}

export const PBKDF2 = {
  ...ITERATED,
  name: 'pbkdf2',
  read: (members: PasswordMembers) => readPbkdf2('pbkdf2', members),
  compute: deriveHex,
  create: ({ prf, iterations }: HashParameters, salt) => ({ scheme: 'pbkdf2', prf, iterations, salt }),
  adminText: { read: readAdminText, render: renderAdminText },
} satisfies PasswordScheme<Pbkdf2Password>

export const SIMPLE_PBKDF2 = {
  ...ITERATED,
  name: 'simple+pbkdf2',
  read: (members: PasswordMembers) => readPbkdf2('simple+pbkdf2', members),
  compute: (clear, stored, derive) => deriveHex(simpleHash(clear, stored.salt), stored, derive),
} satisfies PasswordScheme<SimplePbkdf2Password>

async function deriveHex(text: string, { prf, iterations, salt }: Parameters, derive: Derive): Promise<string> {
  return (await derive(text, { prf, iterations, salt })).toString('hex')
}

type Read<S> = (Iterated & { readonly scheme: S }) | PasswordFlaw

function readPbkdf2<S extends string>(scheme: S, members: PasswordMembers): Read<S> {
  // quirk: reference document 8.3, the defaults of records older than the members
  const { pbkdf2_prf: prf = 'sha', salt = '', iterations = 10000, derived_key: hash } = members
  if (!isPrf(prf)) return 'prf'
  if (typeof salt !== 'string') return 'salt'
  if (typeof iterations !== 'number' || !Number.isInteger(iterations)) return 'iterations'
  if (iterations < 1) return 'iterations_too_low'
  if (iterations > MAX_ITERATIONS) return 'iterations_too_high'
  return typeof hash === 'string' ? { scheme, prf, iterations, salt, hash } : 'hash'
}

const ADMIN_PREFIX = /^-pbkdf2(?::([^-]*))?-/

/** Without the name of a PRF, the length of the hash says which it is. */
function readAdminText(text: string): Pbkdf2Password | string | undefined {
  const [prefix, named] = ADMIN_PREFIX.exec(text) ?? []
  // quirk: reference document 8.2, `-pbkdf2:` with the name of no PRF is clear text
  if (prefix === undefined || (named !== undefined && !isPrf(named))) return undefined
  const [hash, salt, count, ...rest] = text.slice(prefix.length).split(',')
  if (salt === undefined || count === undefined || rest.length > 0) {
    return 'expected three parts, <hash>,<salt>,<iterations>'
  }
  const prf = named ?? PRF_BY_LENGTH.get(hash?.length)
  if (!prf) return 'the hash must have 40, 56, 64, 96 or 128 hexadecimal digits'
  if (!isLowerHex(hash, PRFS[prf].bytes)) return `the hash must be ${PRFS[prf].bytes * 2} lower-case hexadecimal digits`
  if (!isAdminSalt(salt)) return BAD_ADMIN_SALT
  const iterations = readIterations(count)
  return iterations === undefined ? BAD_ITERATIONS : { scheme: 'pbkdf2', prf, iterations, salt, hash }
}

const PRF_BY_LENGTH: ReadonlyMap<number | undefined, Prf> = new Map(
  Object.entries(PRFS).flatMap(([name, { bytes }]) => (isPrf(name) ? [[bytes * 2, name]] : [])),
)

const BAD_ITERATIONS = `the iterations must be a number from 1 to ${MAX_ITERATIONS}`
const COUNT = /^[1-9][0-9]{0,9}$/

function readIterations(text: string): number | undefined {
  const count = COUNT.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  return count <= MAX_ITERATIONS ? count : undefined
}

function renderAdminText({ prf, hash, salt, iterations }: Pbkdf2Password, form: AdminTextForm): string {
  return `${form === 'prf' ? `-pbkdf2:${prf}-` : '-pbkdf2-'}${hash},${salt},${iterations}`
}
