/**
 * Recovery codes: each replaces one one-time code, for a user who has lost the device. The text is shown once, and only
 * its digest is stored. A fast digest is enough, because the text is random (80 bits).
 */
import { randomBytes } from 'node:crypto'
import { frame } from '../../base/encoding.ts'
import { digestHex } from '../../passwords/password-digest.ts'
import type { FactorKey } from '../store-port/one-time-secrets.ts'
import type { Json } from '../users/user.ts'
import { renderBase32 } from './totp.ts'

export const RECOVERY_CODES = 10
const CODE_BYTES = 10

/** Four groups of four letters and digits. */
const createCode = (): string => renderBase32(randomBytes(CODE_BYTES)).replace(/(.{4})(?=.)/g, '$1-')

export const createRecoveryCodes = (): readonly string[] => Array.from({ length: RECOVERY_CODES }, createCode)

const CODE = /^[A-Z2-7]{16}$/

/** The code as it is digested, however the user has typed it; `undefined`: the text is no recovery code. */
export function findRecoveryCode(text: string): string | undefined {
  if (text.length > MAX_TYPED) return undefined
  const code = text.replaceAll(/[\s-]/g, '').toUpperCase()
  return CODE.test(code) ? code : undefined
}

const MAX_TYPED = 64

export const toRecoveryDigest = ({ name, mark }: FactorKey, code: string): string =>
  digestHex('sha256', frame([name, mark, findRecoveryCode(code) ?? '']))

/** The codes of one second factor are not valid for a later one. */
export const toFactorKey = (name: string, totp: Json): FactorKey => ({
  name,
  mark: digestHex('sha256', JSON.stringify(totp)).slice(0, 32),
})
