import { timingSafeEqual } from 'node:crypto'

/** Compares two secrets in constant time. Only a difference in length shows in the time. */
export function isSameSecret(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const left = typeof a === 'string' ? Buffer.from(a) : a
  const right = typeof b === 'string' ? Buffer.from(b) : b
  return left.byteLength === right.byteLength && timingSafeEqual(left, right)
}

/** HMAC pads short keys with zero bytes, so keys that differ only in zero bytes at the end are the same key. */
export const trimHmacKey = (key: Uint8Array): Uint8Array => key.subarray(0, key.findLastIndex((byte) => byte !== 0) + 1)
