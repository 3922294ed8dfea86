import type { Row } from './steps.ts'

/** Columns are what the schema says; anything else is a defect, told without the value. */
export function numberOf(row: Row | undefined, column: string): number {
  const value = row?.[column]
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new TypeError(`The store gave no whole number as ${column}`)
}

export function textOf(row: Row | undefined, column: string): string {
  const value = row?.[column]
  if (typeof value === 'string') return value
  throw new TypeError(`The store gave no text as ${column}`)
}
