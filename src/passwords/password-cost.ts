import { pbkdf2Sync } from 'node:crypto'
import type { StoredPassword } from './password.ts'
import { PRFS, type Prf } from './password-digest.ts'

/** One computation of PBKDF2. */
export interface HashWork {
  readonly prf: Prf
  readonly iterations: number
}

/** What verifying a password of this form computes; `undefined` for a single digest, whose time does not show. */
export const findHashWork = (password: StoredPassword): HashWork | undefined =>
  password.scheme === 'pbkdf2' || password.scheme === 'simple+pbkdf2'
    ? { prf: password.prf, iterations: password.iterations }
    : undefined

/** Time of one iteration by PRF, in any unit. It differs by a factor of four, and by processor. */
export type IterationCosts = Readonly<Record<Prf, number>>

const SAMPLE_ITERATIONS = 500
const ROUNDS = 5

let measured: IterationCosts | undefined

/** Measured once in a process, when first needed: some milliseconds. */
export function measureIterationCosts(): IterationCosts {
  measured ??= Object.freeze({
    sha: measure('sha'),
    sha224: measure('sha224'),
    sha256: measure('sha256'),
    sha384: measure('sha384'),
    sha512: measure('sha512'),
  })
  return measured
}

/** The fastest of some rounds: whatever disturbs a measurement makes it slower. */
function measure(prf: Prf): number {
  const { digest, bytes } = PRFS[prf]
  let fastestMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round += 1) {
    const startMs = performance.now()
    pbkdf2Sync('password', 'salt', SAMPLE_ITERATIONS, bytes, digest)
    fastestMs = Math.min(fastestMs, performance.now() - startMs)
  }
  return fastestMs / SAMPLE_ITERATIONS
}

export const toCost = ({ prf, iterations }: HashWork, costs: IterationCosts): number => iterations * costs[prf]

/** The one that takes longest. Nothing is measured where all have the same PRF. */
export function findMostExpensive(first: HashWork, others: Iterable<HashWork>, costs: () => IterationCosts): HashWork {
  let most = first
  for (const work of others) if (isMoreExpensive(work, most, costs)) most = work
  return most
}

const isMoreExpensive = (a: HashWork, b: HashWork, costs: () => IterationCosts): boolean =>
  a.prf === b.prf ? a.iterations > b.iterations : toCost(a, costs()) > toCost(b, costs())
