/** The second factor of users and administrators: TOTP, and the recovery codes that replace its codes. */
import { randomBytes } from 'node:crypto'
import { digestHex, frame } from '../../base/encoding.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { confirmChange } from '../confirm-change.ts'
import type { DirectoryParts } from '../parts.ts'
import { type FactorOwner, findConfirming, requireFactorProof } from '../password-proof.ts'
import type { FactorKey } from '../store-port/one-time-secrets.ts'
import { type Json, type User, withTotp } from '../users/user.ts'
import { ANY_USER, type CheckWrite, type UserEditor } from '../users/user-operations.ts'
import { createTotpCheck, readTotp, renderBase32 } from './totp.ts'

const SECRET_BYTES = 20
const SECRET = /^[A-Z2-7]{32}$/

/** A secret as a user gets it. SHA-1 with six digits is the only form that every authenticator app supports. */
export const createTotpSecret = (): string => renderBase32(randomBytes(SECRET_BYTES))

/** Users who change their own second factor, or its recovery codes, must have proved it: `second_factor_required`. */
export function createSecondFactors(parts: DirectoryParts, editor: UserEditor) {
  const { store } = parts
  const spendTotp = createTotpCheck(store, parts.clock)
  return {
    /**
     * `secret`: in base32, given to an app; `code`: one of it as proof. Replaces an earlier one. Returns new recovery codes. A wrong code is a `bad_request`. Ends all sessions and tokens of
     * the account, except the session of the request.
     */
    async enableTotp(name: string, secret: string, code: string): Promise<readonly string[]> {
      const member = { key: secret, algorithm: 'sha', length: 6 }
      const totp = SECRET.test(secret) ? readTotp(member) : undefined
      if (!totp) throw badRequest('secret is not one that /account/totp has created.')
      await requireOwnProof(parts, name)
      if (!(await spendTotp(toFactorKey(name, member), totp, code)))
        throw badRequest('The code is wrong, expired or used already.')
      const recoveryCodes = await replaceCodes(parts, name, member)
      await setTotp(parts, editor, name, member)
      return recoveryCodes
    },
    /** For an administrator, or the caller's own account. Also removes the recovery codes. */
    async removeTotp(name: string): Promise<void> {
      await requireOwnProof(parts, name)
      await setTotp(parts, editor, name)
      await removeCodes(parts, name)
    },
    /** For a user, never for an administrator with the same name. */
    async removeUserTotp(name: string, check: CheckWrite): Promise<User> {
      const user = await editor.changeUser(name, check, (before) => withTotp(before, undefined))
      await removeCodes(parts, name)
      return user
    },
    /** Throws `conflict` if the account has no second factor. */
    async replaceRecoveryCodes(name: string): Promise<readonly string[]> {
      const totp = (await parts.findAccount(name))?.totp
      if (totp === undefined) throw new Refusal('conflict', { reason: 'The account has no second factor.' })
      await requireOwnProof(parts, name)
      return replaceCodes(parts, name, totp)
    },
    countRecoveryCodes: ({ name, totp }: FactorOwner) =>
      totp === undefined ? Promise.resolve(0) : store.countRecoveryCodes(toFactorKey(name, totp)),
    /** Whether this is a right code, of the app or for recovery. An accepted code cannot be used again on any node. */
    async spendCode({ name, totp: member = null }: FactorOwner, text: string): Promise<boolean> {
      const totp = readTotp(member)
      if (totp === undefined) return false
      const code = findRecoveryCode(text)
      const factor = toFactorKey(name, member)
      return code === undefined ? spendTotp(factor, totp, text) : spendRecoveryCode(parts, factor, code)
    },
  }
}

async function spendRecoveryCode({ store, events }: DirectoryParts, factor: FactorKey, code: string): Promise<boolean> {
  if (!(await store.useRecoveryCode(factor, toRecoveryDigest(factor, code)))) return false
  events.record('recovery-code.used', { subject: factor.name, left: await store.countRecoveryCodes(factor) })
  return true
}

/** Stored before the second factor is: otherwise an interruption would leave one without recovery codes. */
async function replaceCodes({ store, events }: DirectoryParts, name: string, totp: Json): Promise<readonly string[]> {
  const factor = toFactorKey(name, totp)
  const codes = Array.from({ length: RECOVERY_CODES }, createCode)
  await confirmChange(events)
  await store.putRecoveryCodes(
    factor,
    codes.map((code) => toRecoveryDigest(factor, code)),
  )
  events.record('recovery-codes.created', { subject: name })
  return codes
}

/** Called before anything is changed, for users and administrators. */
async function requireOwnProof({ findAccount, events, ownKey }: DirectoryParts, name: string): Promise<void> {
  const confirmed = await confirmChange(events)
  const account = await findAccount(name)
  if (account?.totp !== undefined) requireFactorProof(account, confirmed, ownKey())
}

async function setTotp(parts: DirectoryParts, editor: UserEditor, name: string, totp?: Json): Promise<void> {
  if (parts.administration.accounts().has(name)) await setAdministratorTotp(parts, name, totp)
  else await editor.changeUser(name, ANY_USER, (user) => withTotp(user, totp), { confirmsFactor: totp !== undefined })
}

const removeCodes = ({ store }: DirectoryParts, name: string): Promise<void> =>
  store.putRecoveryCodes({ name, version: '' }, [])

async function setAdministratorTotp(parts: DirectoryParts, name: string, totp?: Json): Promise<void> {
  const { administration, events, revocations } = parts
  const confirmed = await confirmChange(events)
  await administration.setTotp(name, totp)
  events.record('administrator.totp', { subject: name, action: totp === undefined ? 'removed' : 'set' })
  if (totp === undefined) return
  await administration.endSessions(name, findConfirming(name, confirmed))
  revocations.notify({ kind: 'account', name })
  events.record('session.revoked', { subject: name, reason: 'second factor set' })
}

/*
 * Recovery codes: each replaces one one-time code, for a user who has lost the device. The text is shown once, and only
 * its digest is stored. A fast digest is enough, because the text is random (80 bits).
 */
const RECOVERY_CODES = 10
const CODE_BYTES = 10

/** Four groups of four letters and digits. */
const createCode = (): string => renderBase32(randomBytes(CODE_BYTES)).replace(/(.{4})(?=.)/g, '$1-')

const CODE = /^[A-Z2-7]{16}$/

/** The code as it is digested, however the user has typed it; `undefined`: the text is no recovery code. */
function findRecoveryCode(text: string): string | undefined {
  if (text.length > MAX_TYPED) return undefined
  const code = text.replaceAll(/[\s-]/g, '').toUpperCase()
  return CODE.test(code) ? code : undefined
}

const MAX_TYPED = 64

const toRecoveryDigest = ({ name, version }: FactorKey, code: string): string =>
  digestHex('sha256', frame([name, version, findRecoveryCode(code) ?? '']))

/** Codes of one second factor, used or for recovery, say nothing about a later one. */
const toFactorKey = (name: string, totp: Json): FactorKey => ({
  name,
  version: digestHex('sha256', JSON.stringify(totp)).slice(0, 32),
})
