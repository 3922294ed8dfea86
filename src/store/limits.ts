import { Refusal } from '../base/errors.ts'

const MAX_KEY_BYTES = 1024
const MAX_ROWS = 10_000

/** Neither U+0000, which PostgreSQL cannot store, nor half a surrogate pair, which has no UTF-8. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

export const isKey = (text: string): boolean =>
  text.length <= MAX_KEY_BYTES && Buffer.byteLength(text) <= MAX_KEY_BYTES && isStorable(text)

export function requireKey(text: string, what: string): void {
  if (!isKey(text)) throw new Refusal('bad_request', { detail: `This cannot be stored as ${what}` })
}

export function requireStorableText(text: string, what: string): void {
  if (!isStorable(text)) throw new Refusal('bad_request', { detail: `This cannot be stored as ${what}` })
}

const MAX_FOREIGN_LENGTH = 500

/** Text of another server can be of any length, and contain characters that cannot be stored. */
export const toStorable = (text: string): string =>
  text.slice(0, MAX_FOREIGN_LENGTH).toWellFormed().replaceAll('\0', '\ufffd')

/** The size of one page. A larger page would block other requests for too long. */
export function requirePageSize(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_ROWS) return
  throw new RangeError(`The limit of a listing is a whole number from 1 to ${MAX_ROWS}`)
}
