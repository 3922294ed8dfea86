import { timingSafeEqual } from 'node:crypto'

/** Compares two secrets in constant time. Only the length may leak. */
export function isSameSecret(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const left = typeof a === 'string' ? Buffer.from(a) : a
  const right = typeof b === 'string' ? Buffer.from(b) : b
  return left.byteLength === right.byteLength && timingSafeEqual(left, right)
}
