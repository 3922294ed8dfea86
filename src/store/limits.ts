import { Refusal } from '../base/errors.ts'

const MAX_KEY_BYTES = 1024
const MAX_ROWS = 10_000

/** PostgreSQL has no U+0000, and half a surrogate pair has no UTF-8: neither may reach a database. */
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** Whether something can be stored under this text at all. */
export const isKey = (text: string): boolean =>
  text.length <= MAX_KEY_BYTES && Buffer.byteLength(text) <= MAX_KEY_BYTES && isText(text)

export function requireKey(text: string, what: string): void {
  if (!isKey(text)) throw new Refusal('bad_request', { detail: `This cannot be stored as ${what}` })
}

export function requireText(text: string, what: string): void {
  if (!isText(text)) throw new Refusal('bad_request', { detail: `This cannot be stored as ${what}` })
}

/** A page of a listing. More at once would keep everything else waiting. */
export function requireLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_ROWS) return
  throw new RangeError(`The limit of a listing is a whole number from 1 to ${MAX_ROWS}`)
}
