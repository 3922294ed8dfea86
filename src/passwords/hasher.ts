/**
 * Hashes and verifies passwords off the event loop. The time of a failed check must not reveal whether a name exists.
 */
import { availableParallelism } from 'node:os'
import { isSameSecret } from '../base/compare.ts'
import { JobQueue, type JobQueueOptions, type Turn } from '../base/job-queue.ts'
import { isAffordable, requireAffordable, toAffordableWork } from './hash-policy.ts'
import { findMostExpensive, type HashWork, type StepCosts, toMs } from './hash-work.ts'
import { canBePassword, createSalt, type Derive, derive as deriveOnThread, isPrf } from './password-digest.ts'
import type { HashParameters } from './schemes/scheme.ts'
import {
  findHashWork,
  type HashedPassword,
  isUsable,
  measureStepMs,
  requireScheme,
  type StoredPassword,
  spendWork,
} from './schemes.ts'

/** For a check whose time may reveal its result. */
export const NO_DECOY: HashWork = Object.freeze({ unit: 'sha256', amount: 0 })

export interface HasherOptions extends Omit<JobQueueOptions, 'jobs'> {
  /** How many hashes are computed at once; `defaultJobs()` when left out. */
  readonly jobs?: number
  /** Milliseconds per step of a unit of work. Left out: measured. */
  readonly stepMs?: StepCosts
  /** PBKDF2. A test replaces it to count the work. */
  readonly derive?: Derive
}

/** The work of a failed check, and its place in the queue. */
export type PasswordCheckWork = Turn & { readonly decoy: HashWork }

export type Hasher = ReturnType<typeof createHasher>

/** `hash` and `verify` reject with `overloaded` when too many jobs wait, and with the reason that ended the wait. */
export function createHasher({ jobs = defaultJobs(), ...options }: HasherOptions) {
  const queue = new JobQueue({ jobs, ...options })
  const { derive = deriveOnThread, stepMs = measureStepMs } = options
  const pad = async (done: StoredPassword | undefined, decoy: HashWork): Promise<void> => {
    await spendWork(findRest(done && findHashWork(done), toAffordableWork(decoy), stepMs), derive)
  }
  const verify = async (given: StoredPassword | undefined, clear: string, decoy: HashWork): Promise<boolean> => {
    const stored = given && isAffordable(given) ? given : undefined
    const isRight = stored !== undefined && (await isPasswordOf(stored, clear, derive))
    if (!isRight) await pad(stored, decoy)
    return isRight
  }
  return {
    /** Creates a salt unless one is given. Rejects parameters of a hash that `verify` would not compute. */
    hash: (
      clear: string,
      { salt = createSalt(), ...parameters }: HashParameters & { readonly salt?: string },
      turn?: Turn,
    ) => queue.run(() => createStored(clear, { ...parameters, salt }, derive), turn),
    /**
     * Whether this is the password. A failed check takes as long as the decoy: for an unknown user (`undefined`) the decoy
     * is computed, for a cheaper stored form the difference. A stored form that costs more than the limit is never
     * computed: every password is wrong.
     */
    verify: (stored: StoredPassword | undefined, clear: string, { decoy, ...turn }: PasswordCheckWork) =>
      queue.run(() => verify(stored, clear, decoy), turn),
    /**
     * Computes what a failed check with this decoy would have computed beyond `done`, for a right password that is
     * rejected for another reason. `undefined`: nothing was computed.
     */
    pad: (done: StoredPassword | undefined, decoy: HashWork, turn?: Turn) => queue.run(() => pad(done, decoy), turn),
    /** The work that takes longest on this machine. */
    findMostExpensive: (first: HashWork, others: Iterable<HashWork>): HashWork =>
      findMostExpensive(first, others, stepMs),
    /** `refused`: how many passwords were rejected so far because too many waited. */
    load: () => ({ ...queue.load(), refused: queue.countRefused() }),
  }
}

const DEFAULT_POOL_THREADS = 4

/** One job per core, but never all threads of the pool: file access and name resolution use it too. */
export function defaultJobs(poolSize = process.env['UV_THREADPOOL_SIZE'], cores = availableParallelism()): number {
  const threads = Number.parseInt(poolSize ?? '', 10) || DEFAULT_POOL_THREADS
  return Math.max(Math.min(cores, threads - 1), 1)
}

async function createStored(clear: string, parameters: HashParameters & { readonly salt: string }, derive: Derive) {
  const scheme = requireScheme(parameters.scheme)
  const created = scheme.create?.(parameters, parameters.salt)
  if (!created) throw new TypeError(`no new password is stored as ${scheme.name}`)
  // only the schemes of HashedPassword have a `create`
  const password = { ...created, hash: '' } as HashedPassword
  requireAffordable(password)
  return { ...password, hash: await scheme.compute(clear, created, derive) }
}

async function isPasswordOf(stored: StoredPassword, clear: string, derive: Derive): Promise<boolean> {
  if (!isUsable(stored)) return false
  const hash = await requireScheme(stored.scheme).compute(clear, stored, derive)
  // checked last, so that a text that cannot be a password takes the same time
  return isSameSecret(hash, stored.hash) && canBePassword(clear)
}

/** The work that is missing to the time of the decoy. */
function findRest(done: HashWork | undefined, decoy: HashWork, stepMs: StepCosts): HashWork {
  if (!done) return decoy
  if (done.unit === decoy.unit) return { ...decoy, amount: decoy.amount - done.amount }
  // iterations of a PRF are small steps; those of other units can be as long as the whole difference
  const unit = isPrf(decoy.unit) ? decoy.unit : 'sha256'
  return { unit, amount: Math.round((toMs(decoy, stepMs) - toMs(done, stepMs)) / stepMs(unit)) }
}
