import { DatabaseError } from 'pg'
import { codeOf, messageOf, Refusal } from '../../base/errors.ts'
import { BackupError } from '../backup/format.ts'
import { IncompatibleStoreError, Undone } from '../engine.ts'

/** Rolled back because of another transaction: serialisation failure, deadlock. */
const ROLLED_BACK = new Set(['40001', '40P01'])

/** The connection has lost its prepared statements, or a migration has changed their result columns. */
const OUTDATED = new Set(['0A000', '26000'])

/**
 * SQLSTATE classes about the server and the connection to it: connection, wrong password, no such database, not
 * writable, out of resources, busy, operator, system.
 */
const UNAVAILABLE = ['08', '25', '28', '3D', '53', '55', '57', '58']

const TOO_MANY_CONNECTIONS = '53300'

/** A table, column or schema that Cardea needs is missing, or Cardea may not use it. */
const DAMAGED_SCHEMA = new Set(['42P01', '42703', '42501', '3F000'])

const stateOf = (error: unknown): string | undefined => (error instanceof DatabaseError ? error.code : undefined)

const UNIQUE_VIOLATION = '23505'
/** SQLSTATE classes about the values of a row: wrong type or range, and constraints of the schema. */
const ABOUT_VALUES = ['22', '23']

/** Codes that say nothing about whether other requests fail. */
const EXPECTED = new Set([...UNAVAILABLE, ...ABOUT_VALUES])

/** Whether the schema does not allow a row, and then, whether because of another row with the same key. */
export function findPostgresConflict(error: unknown): 'duplicate' | 'value' | undefined {
  const state = stateOf(error) ?? ''
  if (state === UNIQUE_VIOLATION) return 'duplicate'
  return ABOUT_VALUES.includes(state.slice(0, 2)) ? 'value' : undefined
}

/** Nothing was changed, and a second attempt may succeed. */
export function isRolledBack(error: unknown): boolean {
  const state = stateOf(error) ?? ''
  return ROLLED_BACK.has(state) || OUTDATED.has(state)
}

/** The connection failed; whether the last statement was executed is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const state = stateOf(error)
  return state === undefined ? !isOwnError(error) : state.startsWith('08') || state.startsWith('57P')
}

/** Codes of PostgreSQL for a wrong password and a missing database, which waiting does not change. */
const LASTING = /^(?:28|3D)/

/** The error of a server that may be reached a moment later. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'store_unavailable' && !LASTING.test(codeOf(error.cause))

/** An error of Cardea. The driver's errors for a lost connection have no code. */
const isOwnError = (error: unknown): boolean =>
  error instanceof Refusal ||
  error instanceof IncompatibleStoreError ||
  error instanceof BackupError ||
  error instanceof Undone ||
  error instanceof TypeError ||
  error instanceof RangeError

/**
 * The error for the caller: whatever the server reports, the store cannot be used now. A driver's error may quote whole
 * rows, so only its code and message are kept.
 */
export function readPostgresError(error: unknown): unknown {
  if (isOwnError(error)) return error
  const code = stateOf(error) ?? (codeOf(error) || undefined)
  const cause = Object.assign(new Error(describeCause(error)), { code })
  return new Refusal('store_unavailable', { detail: cause.message, cause, retryAfterSeconds: 1 })
}

/** For how long health reports an error that other requests may not have. */
const REMEMBERED_MS = 30_000

/** The cause of a refusal that an operator should know of even if the next request succeeds. */
export class LastingProblem extends Error {}

/** The last error that an operator should know of even if the next request succeeds. */
export class ProblemMemory {
  #last: { readonly reason: string; readonly untilMs: number } | undefined

  note(error: unknown): void {
    const reason = findLasting(error)
    if (reason !== undefined) this.#last = { reason, untilMs: performance.now() + REMEMBERED_MS }
  }

  find(): string | undefined {
    return this.#last && performance.now() < this.#last.untilMs ? this.#last.reason : undefined
  }
}

function findLasting(error: unknown): string | undefined {
  if (error instanceof Refusal && error.cause instanceof LastingProblem) return error.cause.message
  const state = stateOf(error)
  if (state === undefined) return undefined
  if (state === TOO_MANY_CONNECTIONS)
    return `PostgreSQL has refused a connection: ${describeCause(error)}. See store.max-connections`
  const isExpected = EXPECTED.has(state.slice(0, 2)) || DAMAGED_SCHEMA.has(state) || isRolledBack(error)
  return isExpected ? undefined : `PostgreSQL has answered with the unexpected code ${state}: ${describeCause(error)}`
}

export async function explain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw readPostgresError(error)
  }
}

function describeCause(error: unknown): string {
  // a host name with several addresses fails with one error for each
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? messageOf(first) : 'unknown failure of the database driver'
}
