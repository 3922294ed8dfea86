import { timingSafeEqual } from 'node:crypto'

/** Compares two secrets in constant time. Only the length may leak. */
export function isSameSecret(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const left = typeof a === 'string' ? Buffer.from(a) : a
  const right = typeof b === 'string' ? Buffer.from(b) : b
  return left.byteLength === right.byteLength && timingSafeEqual(left, right)
}

/** What counts of a key of HMAC: a short one is filled up with zero bytes, so those at its end change nothing. */
export function trimHmacKey(key: Uint8Array): Uint8Array {
  return key.subarray(0, key.findLastIndex((byte) => byte !== 0) + 1)
}
