/**
 * Ids of sessions: 16 bytes in base64url. The id of a session that was opened with the password shows it, and when:
 *
 *     seconds since the epoch (4 bytes)  random (4 bytes)  MAC (8 bytes)
 *
 * The key of the MAC is Cardea's own and leaves the store never. So neither the secret of tokens nor that of cookies,
 * which other servers may share, is enough to claim that a password was shown. Every other id is random.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { isSameSecret } from '../base/compare.ts'

const ID_BYTES = 16
const HEAD_BYTES = 8
const TIME_BYTES = 4
/** What an unsigned number of four bytes can hold: until the year 2106. */
const MAX_TIME = 0xffff_ffff

/** Whose session it is. A new session epoch makes every earlier id worthless. */
export interface SessionOwner {
  readonly name: string
  readonly sessionEpoch: { readonly generation: number }
}

/** An id that shows nothing. */
export const createPlainId = (): string => randomBytes(ID_BYTES).toString('base64url')

/** The id of a session that the password opens now. */
export function createPasswordId(owner: SessionOwner, nowSeconds: number, key: Uint8Array): string {
  const head = randomBytes(HEAD_BYTES)
  head.writeUInt32BE(Math.min(nowSeconds, MAX_TIME))
  return Buffer.concat([head, macOf(head, owner, key)]).toString('base64url')
}

/** When the password opened this session, in seconds; `undefined` where the id does not show that it did. */
export function findPasswordTime(id: string, owner: SessionOwner, key: Uint8Array): number | undefined {
  const bytes = Buffer.from(id, 'base64url')
  if (bytes.length !== ID_BYTES) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  return isSameSecret(macOf(head, owner, key), bytes.subarray(HEAD_BYTES)) ? head.readUIntBE(0, TIME_BYTES) : undefined
}

const macOf = (head: Uint8Array, { name, sessionEpoch }: SessionOwner, key: Uint8Array): Buffer =>
  createHmac('sha256', key)
    .update(`session:${sessionEpoch.generation}:${name}:`)
    .update(head)
    .digest()
    .subarray(0, ID_BYTES - HEAD_BYTES)
