import { createHmac } from 'node:crypto'
import { type Clock, nowSeconds, type SharedClock } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'
import { findMember, isJsonObject } from '../../base/json.ts'
import type { CodeStore, FactorKey } from '../store-port/one-time-secrets.ts'
import type { Json, JsonObject } from '../users/user.ts'

/** A second factor: codes that change with time (RFC 6238). */
export interface Totp {
  readonly key: Uint8Array
  /** As `node:crypto` names it. */
  readonly digest: string
  /** Digits of a code. */
  readonly length: number
}

const STEP_SECONDS = 30

const DIGESTS: ReadonlyMap<unknown, string> = new Map([
  ['sha', 'sha1'],
  ...['sha224', 'sha256', 'sha384', 'sha512'].map((name) => [name, name] as const),
])

const LENGTHS: ReadonlySet<unknown> = new Set([6, 7, 8])

/**
 * Reads the member `totp` of a user document: `{ key: base32, algorithm: "sha", length: 6 }`. `undefined` for
 * anything else: then every code is wrong.
 */
export function readTotp(member: Json): Totp | undefined {
  if (!isJsonObject(member)) return undefined
  const key = readBase32(findMember(member, 'key'))
  const digest = DIGESTS.get(findMember(member, 'algorithm') ?? 'sha')
  const length = findMember(member, 'length') ?? 6
  return key && digest && LENGTHS.has(length) ? { key, digest, length: Number(length) } : undefined
}

/** Shown to users in place of the key of their second factor. It is no base32, so it is never a key. */
const MASK = '***'

/** The member as its user sees it. */
export const maskTotp = (member: Json): Json => (isObject(member) ? { ...member, key: MASK } : MASK)

/** The member that a client has sent, with the stored key in place of the mask. */
export function unmaskTotp(sent: Json, stored: Json | undefined): Json {
  if (stored === undefined) return sent
  if (sent === MASK) return stored
  if (!isObject(sent) || findMember(sent, 'key') !== MASK || !isObject(stored)) return sent
  const { key } = stored
  return key === undefined ? stored : { ...sent, key }
}

const isObject = (value: Json): value is JsonObject => isJsonObject(value)

const BASE32 = /^(?:[A-Z2-7]{8})*(?:[A-Z2-7]{2}={6}|[A-Z2-7]{4}={4}|[A-Z2-7]{5}={3}|[A-Z2-7]{7}=)?$/
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648, section 6: upper case, padded. */
function readBase32(text: unknown): Uint8Array | undefined {
  if (typeof text !== 'string' || text === '' || text.length > 1024 || !BASE32.test(text)) return undefined
  const bytes: number[] = []
  let bits = 0
  let held = 0
  for (const letter of text.replaceAll('=', '')) {
    held = ((held << 5) | ALPHABET.indexOf(letter)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((held >> bits) & 0xff)
  }
  return Uint8Array.from(bytes)
}

/** RFC 4648, section 6, for a number of bytes that needs no padding. */
export function renderBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{5}/g, (group) => ALPHABET[Number.parseInt(group, 2)] ?? '')
}

/** The code of one step (RFC 4226, section 5.3). */
export function renderCode({ key, digest, length }: Totp, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac(digest, key).update(counter).digest()
  const at = (mac.at(-1) ?? 0) & 0x0f
  const number = mac.readUInt32BE(at) & 0x7fffffff
  return String(number % 10 ** length).padStart(length, '0')
}

/** Used steps are kept for a day. */
const KEPT_STEPS = 2880

const toStep = (clock: Clock): number => Math.floor(nowSeconds(clock) / STEP_SECONDS)

/**
 * Whether this is the code of the current time step, of the one before or of the next one, and was not used. An accepted
 * code cannot be used again on any node. A wrong code is rejected without asking the store. Throws `store_unavailable` if
 * a right one cannot be recorded. Old uses are forgotten by the time for deletion, which does not jump ahead.
 */
export const createTotpCheck =
  (store: CodeStore, clock: SharedClock) =>
  async (factor: FactorKey, totp: Totp, code: string): Promise<boolean> => {
    const now = toStep(clock)
    // all three are computed and compared, so that the time does not show which one matches
    const matching = [now - 1, now, now + 1].filter((step) => isSameSecret(renderCode(totp, step), code))
    const step = matching.at(-1)
    if (step === undefined) return false
    return store.useCodeStep({ factor, step, purgeBefore: toStep(clock.purge) - KEPT_STEPS })
  }
