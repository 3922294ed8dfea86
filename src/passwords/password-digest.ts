import { pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/** The pseudo-random functions of PBKDF2, by the name they are stored under. */
export const PRFS = {
  sha: { digest: 'sha1', bytes: 20 },
  sha224: { digest: 'sha224', bytes: 28 },
  sha256: { digest: 'sha256', bytes: 32 },
  sha384: { digest: 'sha384', bytes: 48 },
  sha512: { digest: 'sha512', bytes: 64 },
} as const satisfies Record<string, { digest: string; bytes: number }>

export type Prf = keyof typeof PRFS

const PRF_NAMES: ReadonlySet<string> = new Set(Object.keys(PRFS))

export const isPrf = (name: unknown): name is Prf => typeof name === 'string' && PRF_NAMES.has(name)

/** The limit of `crypto.pbkdf2`. */
export const MAX_ITERATIONS = 2 ** 31 - 1

export interface Derivation {
  readonly prf: Prf
  readonly salt: string | Uint8Array
  readonly iterations: number
  /** Length of the key; the digest's own when left out. */
  readonly keyBytes?: number
}

const pbkdf2Async = promisify(pbkdf2)

/** PBKDF2 on a thread of the pool. Rejects impossible parameters. */
export async function derive(password: string | Uint8Array, by: Derivation): Promise<Buffer> {
  const { digest, bytes } = PRFS[by.prf]
  return pbkdf2Async(password, by.salt, by.iterations, by.keyBytes ?? bytes, digest)
}

export type Derive = typeof derive

const LOWER_HEX = /^[0-9a-f]*$/

/** Whether this is the lower-case hexadecimal text of so many bytes. */
export const isLowerHex = (text: string | undefined, bytes: number): text is string =>
  text !== undefined && text.length === bytes * 2 && LOWER_HEX.test(text)

/** 16 random bytes as 32 hexadecimal characters; the text itself is the salt. */
export const createSalt = (): string => randomBytes(16).toString('hex')

/**
 * Why a text cannot be a password, as a sentence: hashing could not distinguish it from another text. Lone surrogates
 * all become one character in UTF-8; HMAC, and so PBKDF2, pads short keys with zeros.
 */
export function checkPasswordText(password: string): string | undefined {
  if (!password.isWellFormed()) return 'It holds half of a surrogate pair, which is no character.'
  return password.includes('\0') ? 'It holds the character NUL.' : undefined
}

export const canBePassword = (password: string): boolean => checkPasswordText(password) === undefined
