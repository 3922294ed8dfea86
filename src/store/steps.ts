/**
 * Operations are written once, as generators that yield the statements they need; an engine drives them inside a
 * transaction. So both engines decide alike, and SQLite, whose calls are synchronous, never has a transaction open
 * while something else runs.
 */

export interface Statement {
  readonly name: string
  /** Parameters are `$1`, `$2`, …; one text for both engines. */
  readonly text: string
}

export type Value = string | number | null

export type Row = Readonly<Record<string, unknown>>

/** One statement with its values, or the same statement for many rows of values. */
export type Step =
  | { readonly kind: 'one'; readonly statement: Statement; readonly values: readonly Value[] }
  | { readonly kind: 'many'; readonly statement: Statement; readonly rows: readonly (readonly Value[])[] }

export type OneStep = Extract<Step, { kind: 'one' }>

export const one = (statement: Statement, ...values: readonly Value[]): OneStep => ({ kind: 'one', statement, values })

export const many = (statement: Statement, rows: readonly (readonly Value[])[]): Step => ({
  kind: 'many',
  statement,
  rows,
})

export type Operation<T> = Generator<Step, T, readonly Row[]>

/** What differs between the databases. All else is in the operations. */
export interface Engine {
  readonly name: string
  /** Runs one statement by itself. It must bear being run twice: an engine may try again. */
  ask(step: OneStep): Promise<readonly Row[]>
  /** Runs an operation whole or not at all, no other writer meanwhile. May begin it again after it was undone. */
  transact<T>(begin: () => Operation<T>): Promise<T>
  onWake(listener: () => void): () => void
  close(): Promise<void>
}
