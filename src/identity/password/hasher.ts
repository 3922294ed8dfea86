/**
 * Hashing and verifying of passwords, off the event loop. Passwords in clear and stored passwords enter; new stored
 * passwords and yes or no leave. No answer may tell by its time whether a name exists.
 */
import { availableParallelism } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'
import type { HashedPassword, Pbkdf2Password, StoredPassword, UsablePassword } from './password.ts'
import { createSalt, derive, digestHex, METHODS, type Prf } from './password-digest.ts'
import { createJobQueue } from './password-queue.ts'
import { canBePassword } from './password-text.ts'

/** How new passwords are hashed; also what verifying the password of nobody costs. */
export interface HashParameters {
  readonly scheme: 'simple' | 'pbkdf2'
  readonly prf: Prf
  readonly iterations: number
}

/** For a check whose time need not hide anything. */
export const NO_DECOY: HashParameters = Object.freeze({ scheme: 'simple', prf: 'sha256', iterations: 0 })

export interface HasherOptions {
  /** How many hashes are computed at once; `defaultJobs()` when left out. */
  readonly jobs?: number
  /** How many more may wait; asked each time. */
  readonly queue: () => number
  readonly clock?: Clock
}

export interface Hasher {
  /** A salt is kept where one is given, else made. */
  hash(
    password: string,
    parameters: HashParameters & { readonly salt?: string },
    signal?: AbortSignal,
  ): Promise<HashedPassword>
  /**
   * Whether this is the password. `undefined`, a user nobody knows, and stored forms cheaper than the decoy cost as
   * much as a wrong password hashed with the decoy's parameters.
   */
  verify(
    stored: StoredPassword | undefined,
    password: string,
    decoy: HashParameters,
    signal?: AbortSignal,
  ): Promise<boolean>
  load(): { readonly running: number; readonly waiting: number }
}

/** Both methods reject with `overloaded` when too many wait, and with the signal's reason when it ends the wait. */
export function createHasher({ jobs = defaultJobs(), ...options }: HasherOptions): Hasher {
  const { run, load } = createJobQueue({ jobs, ...options })
  return {
    hash: (password, { salt = createSalt(), ...parameters }, signal) =>
      run(() => computeStored(password, salt, parameters), signal),
    verify: (stored, password, decoy, signal) => run(() => verifyStored(stored, password, decoy), signal),
    load,
  }
}

const DEFAULT_POOL_THREADS = 4

/** One job a core, but never the whole pool of threads: files and names of hosts are looked up by it too. */
export function defaultJobs(poolSize = process.env['UV_THREADPOOL_SIZE'], cores = availableParallelism()): number {
  const threads = Number.parseInt(poolSize ?? '', 10) || DEFAULT_POOL_THREADS
  return Math.max(Math.min(cores, threads - 1), 1)
}

async function computeStored(password: string, salt: string, parameters: HashParameters): Promise<HashedPassword> {
  const { scheme, prf, iterations } = parameters
  if (scheme === 'simple') return { scheme, salt, hash: simpleHash(password, salt) }
  return { scheme, prf, iterations, salt, hash: await deriveHex(password, { prf, iterations, salt }) }
}

async function verifyStored(
  stored: StoredPassword | undefined,
  password: string,
  decoy: HashParameters,
): Promise<boolean> {
  const isRight = stored !== undefined && (await isPasswordOf(stored, password))
  if (!isRight) await spendRest(stored, password, decoy)
  return isRight
}

async function isPasswordOf(stored: StoredPassword, password: string): Promise<boolean> {
  if (stored.scheme === 'unusable') return false
  // last, so that it costs the same
  return isSameSecret(await hashAs(stored, password), stored.hash) && canBePassword(password)
}

async function hashAs(stored: UsablePassword, password: string): Promise<string> {
  if (stored.scheme === 'simple') return simpleHash(password, stored.salt)
  if (stored.scheme === 'salted') return digestHex(METHODS[stored.method].digest, stored.salt, password)
  if (stored.scheme === 'pbkdf2') return deriveHex(password, stored)
  return deriveHex(simpleHash(password, stored.salt), stored)
}

// the time of a refusal must not tell a user with an old hash, or none, from one with a new hash
async function spendRest(stored: StoredPassword | undefined, password: string, decoy: HashParameters): Promise<void> {
  const rest = iterationsOf(decoy) - (stored ? iterationsOf(stored) : 0)
  if (rest > 0) await derive(password, { prf: decoy.prf, iterations: rest, salt: DECOY_SALT })
}

const DECOY_SALT = createSalt()

const iterationsOf = (password: HashParameters | StoredPassword): number =>
  password.scheme === 'pbkdf2' || password.scheme === 'simple+pbkdf2' ? password.iterations : 0

const simpleHash = (password: string, salt: string): string => digestHex('sha1', password, salt)

async function deriveHex(
  password: string,
  { prf, iterations, salt }: Pick<Pbkdf2Password, 'prf' | 'iterations' | 'salt'>,
): Promise<string> {
  return (await derive(password, { prf, iterations, salt })).toString('hex')
}
