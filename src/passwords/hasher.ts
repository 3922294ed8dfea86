/**
 * Hashing and verifying of passwords, off the event loop. Passwords in clear and stored passwords enter; new stored
 * passwords and yes or no leave. No answer may tell by its time whether a name exists.
 */
import { availableParallelism } from 'node:os'
import type { Clock } from '../base/clock.ts'
import { isSameSecret } from '../base/compare.ts'
import { createJobQueue, type Turn } from './job-queue.ts'
import type { HashedPassword, Pbkdf2Password, StoredPassword, UsablePassword } from './password.ts'
import {
  findHashWork,
  findMostExpensive,
  type HashWork,
  type IterationCosts,
  measureIterationCosts,
  toCost,
} from './password-cost.ts'
import { createSalt, derive, digestHex, METHODS, type Prf } from './password-digest.ts'
import { canBePassword } from './password-text.ts'

/** How new passwords are hashed. */
export interface HashParameters {
  readonly scheme: 'simple' | 'pbkdf2'
  readonly prf: Prf
  readonly iterations: number
}

/** For a check whose time need not hide anything. */
export const NO_DECOY: HashWork = Object.freeze({ prf: 'sha256', iterations: 0 })

export interface HasherOptions {
  /** How many hashes are computed at once; `defaultJobs()` when left out. */
  readonly jobs?: number
  /** How many more may wait; asked each time. */
  readonly queue: () => number
  readonly clock?: Clock
  /** Measured unless given. */
  readonly costs?: () => IterationCosts
  /** PBKDF2; a test counts with it what is computed. */
  readonly derive?: typeof derive
}

export interface Hasher {
  /** A salt is kept where one is given, else made. */
  hash(password: string, parameters: HashParameters & { readonly salt?: string }, turn?: Turn): Promise<HashedPassword>
  /**
   * Whether this is the password. A refusal takes as long as computing the decoy: for an unknown user (`undefined`) that
   * is computed, for a stored form that is cheaper the rest of it.
   */
  verify(stored: StoredPassword | undefined, password: string, decoy: HashWork, turn?: Turn): Promise<boolean>
  /** The one that takes longest here. */
  findMostExpensive(first: HashWork, others: Iterable<HashWork>): HashWork
  load(): { readonly running: number; readonly waiting: number }
}

/** Both methods reject with `overloaded` when too many wait, and with what ended the wait. */
export function createHasher({ jobs = defaultJobs(), ...options }: HasherOptions): Hasher {
  const { run, load } = createJobQueue({ jobs, ...options })
  const tools: Tools = { derive: options.derive ?? derive, costs: options.costs ?? measureIterationCosts }
  return {
    hash: (password, { salt = createSalt(), ...parameters }, turn) =>
      run(() => computeStored(tools, password, salt, parameters), turn),
    verify: (stored, password, decoy, turn) => run(() => verifyStored(tools, stored, password, decoy), turn),
    findMostExpensive: (first, others) => findMostExpensive(first, others, tools.costs),
    load,
  }
}

const DEFAULT_POOL_THREADS = 4

/** One job a core, but never the whole pool of threads: files and names of hosts are looked up by it too. */
export function defaultJobs(poolSize = process.env['UV_THREADPOOL_SIZE'], cores = availableParallelism()): number {
  const threads = Number.parseInt(poolSize ?? '', 10) || DEFAULT_POOL_THREADS
  return Math.max(Math.min(cores, threads - 1), 1)
}

interface Tools {
  readonly derive: typeof derive
  readonly costs: () => IterationCosts
}

async function computeStored(
  tools: Tools,
  password: string,
  salt: string,
  { scheme, prf, iterations }: HashParameters,
): Promise<HashedPassword> {
  if (scheme === 'simple') return { scheme, salt, hash: simpleHash(password, salt) }
  return { scheme, prf, iterations, salt, hash: await deriveHex(tools, password, { prf, iterations, salt }) }
}

async function verifyStored(
  tools: Tools,
  stored: StoredPassword | undefined,
  password: string,
  decoy: HashWork,
): Promise<boolean> {
  const isRight = stored !== undefined && (await isPasswordOf(tools, stored, password))
  if (!isRight) await spendRest(tools, stored, password, decoy)
  return isRight
}

async function isPasswordOf(tools: Tools, stored: StoredPassword, password: string): Promise<boolean> {
  if (stored.scheme === 'unusable') return false
  // last, so that it costs the same
  return isSameSecret(await hashAs(tools, stored, password), stored.hash) && canBePassword(password)
}

async function hashAs(tools: Tools, stored: UsablePassword, password: string): Promise<string> {
  if (stored.scheme === 'simple') return simpleHash(password, stored.salt)
  if (stored.scheme === 'salted') return digestHex(METHODS[stored.method].digest, stored.salt, password)
  if (stored.scheme === 'pbkdf2') return deriveHex(tools, password, stored)
  return deriveHex(tools, simpleHash(password, stored.salt), stored)
}

// the time of a refusal must not tell a user with a cheap hash, or none, from one with an expensive hash
async function spendRest(
  { derive, costs }: Tools,
  stored: StoredPassword | undefined,
  password: string,
  decoy: HashWork,
): Promise<void> {
  const iterations = countRest(stored && findHashWork(stored), decoy, costs)
  if (iterations > 0) await derive(password, { prf: decoy.prf, iterations, salt: DECOY_SALT })
}

/** Iterations of the decoy's PRF that take as long as the decoy does beyond what was computed already. */
function countRest(done: HashWork | undefined, decoy: HashWork, costs: () => IterationCosts): number {
  if (!done) return decoy.iterations
  if (done.prf === decoy.prf) return decoy.iterations - done.iterations
  return decoy.iterations - Math.round(toCost(done, costs()) / costs()[decoy.prf])
}

const DECOY_SALT = createSalt()

const simpleHash = (password: string, salt: string): string => digestHex('sha1', password, salt)

async function deriveHex(
  { derive }: Tools,
  password: string,
  { prf, iterations, salt }: Pick<Pbkdf2Password, 'prf' | 'iterations' | 'salt'>,
): Promise<string> {
  return (await derive(password, { prf, iterations, salt })).toString('hex')
}
