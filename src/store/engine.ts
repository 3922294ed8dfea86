import { yieldToOthers } from '../base/pace.ts'

/**
 * The interface between the operations and a database. An operation is a generator that yields the statements it needs;
 * an engine runs it inside a transaction. Each operation is therefore written once for both databases, and SQLite, whose
 * calls are synchronous, never keeps a transaction open while other code runs.
 */

export interface Statement {
  readonly name: string
  /** Parameters are `$1`, `$2`, …; both engines get the same text. */
  readonly text: string
}

export type Value = string | number | null

export type Row = Readonly<Record<string, unknown>>

/** One statement with its values, or the same statement for many rows of values. */
export type StoreStep =
  | { readonly kind: 'one'; readonly statement: Statement; readonly values: readonly Value[] }
  | { readonly kind: 'many'; readonly statement: Statement; readonly rows: readonly (readonly Value[])[] }

export type OneStep = Extract<StoreStep, { kind: 'one' }>

export const one = (statement: Statement, ...values: readonly Value[]): OneStep => ({ kind: 'one', statement, values })

export const many = (statement: Statement, rows: readonly (readonly Value[])[]): StoreStep => ({
  kind: 'many',
  statement,
  rows,
})

/** Runs a statement for many values of its only parameter. */
export const manyKeys = (statement: Statement, keys: Iterable<string>): StoreStep =>
  many(
    statement,
    Array.from(keys, (key) => [key]),
  )

export type StoreSteps<T> = Generator<StoreStep, T, readonly Row[]>

/** What an operation throws to undo its transaction, for its caller. The store itself works. */
export class Undone extends Error {}

export interface Engine {
  readonly name: string
  /** Runs one statement outside a transaction. An engine may run it again, so it must be safe to repeat. */
  ask(step: OneStep): Promise<readonly Row[]>
  /** Runs an operation in a transaction, as the only writer. May start it again after a rollback. */
  transact<T>(begin: () => StoreSteps<T>): Promise<T>
  onWake(listener: () => void): () => void
  /** Throws if the file that is open is no longer the one at its path. Left out: the store is not a file. */
  requirePlace?(): void
  /** What went wrong lately and may go wrong again, although the store can be read and written. */
  findProblem?(): string | undefined
  close(): Promise<void>
}

/** No statement of Cardea writes behind `WITH`. */
export const isRead = ({ text }: Statement): boolean => /^(?:SELECT|WITH) /.test(text)

/** The store exists but cannot be used as it is. The message is for the operator. */
export class IncompatibleStoreError extends Error {
  override readonly name = 'IncompatibleStoreError'
}

/** Throws if the column does not match the schema, without quoting the value. */
export function numberOf(row: Row | undefined, column: string): number {
  const value = row?.[column]
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new TypeError(`the store returned no whole number as ${column}`)
}

export function textOf(row: Row | undefined, column: string): string {
  const value = row?.[column]
  if (typeof value === 'string') return value
  throw new TypeError(`the store returned no text as ${column}`)
}

/** Sorted by the first column: two nodes that write the same rows lock them in the same order. */
export function* putSorted(statement: Statement, rows: readonly (readonly [string, ...Value[]])[]): StoreSteps<void> {
  yield many(
    statement,
    rows.toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** Deletes expired rows in batches with a pause between them, so that other work is not blocked. Returns how many. */
export const purgeExpired = (engine: Engine, statement: Statement, nowSeconds: number): Promise<number> =>
  purgeRows(engine, one(statement, nowSeconds))

/** Purges with a statement that has other values. It deletes at most a batch and returns its rows. */
export async function purgeRows(engine: Engine, step: OneStep): Promise<number> {
  let total = 0
  for (;;) {
    await yieldToOthers()
    const deleted = await engine.ask(step)
    if (deleted.length === 0) return total
    total += deleted.length
  }
}
