/**
 * The cost of verifying passwords. A failed check must take equally long for every name, or its time would reveal which
 * names exist; so the costs of different schemes have to be compared.
 */
import type { Derive } from './password-digest.ts'

/** `amount` steps of a kind, as iterations of a PRF. Within one unit the time is proportional to the amount. */
export interface HashWork {
  readonly unit: string
  readonly amount: number
}

/** The units of work of a scheme. */
export interface WorkUnits {
  includes(unit: string): boolean
  /** Computes hashes that take as long as this work. Resolves with them, for tests only. */
  spend(work: HashWork, derive: Derive): Promise<unknown>
  /** `undefined` for a unit that is not included. */
  findSample(unit: string): Sample | undefined
}

/** A short computation, and the steps of a unit that it takes. */
export interface Sample {
  /** Units with the same name have the same computation, which is measured once. */
  readonly name: string
  readonly steps: number
  compute(): unknown
}

const ROUNDS = 10

/** Milliseconds, by the name of the sample. */
const sampleMs = new Map<string, number>()

/** Milliseconds that one step takes on this machine. Measured once per process, when first called. */
export function measureSampleStep({ name, steps, compute }: Sample): number {
  const ms = sampleMs.get(name) ?? measureMs(compute)
  sampleMs.set(name, ms)
  return ms / steps
}

/** Milliseconds of the fastest of several rounds: anything that disturbs a measurement makes it slower. */
function measureMs(compute: () => unknown): number {
  let fastestMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round += 1) {
    const startMs = performance.now()
    compute()
    fastestMs = Math.min(fastestMs, performance.now() - startMs)
  }
  return fastestMs
}

/** Milliseconds per step, by unit. */
export type StepCosts = (unit: string) => number

export const toMs = ({ unit, amount }: HashWork, stepMs: StepCosts): number => amount * stepMs(unit)

/** The work that takes longest. Nothing is measured if all have the same unit. */
export function findMostExpensive(first: HashWork, others: Iterable<HashWork>, stepMs: StepCosts): HashWork {
  let most = first
  for (const work of others) if (isMoreExpensive(work, most, stepMs)) most = work
  return most
}

const isMoreExpensive = (a: HashWork, b: HashWork, stepMs: StepCosts): boolean =>
  a.unit === b.unit ? a.amount > b.amount : toMs(a, stepMs) > toMs(b, stepMs)
