/** The second factor of users and administrators: TOTP, and the recovery codes that replace its codes. */
import { randomBytes } from 'node:crypto'
import { digestHex, frame } from '../../base/encoding.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { type Account, needsSecondStep } from '../account.ts'
import type { Caller } from '../caller.ts'
import type { DirectoryParts } from '../parts.ts'
import { type FactorOwner, findConfirming, requireFactorProof } from '../password-proof.ts'
import type { FactorKey } from '../store-port/one-time-secrets.ts'
import { type Json, type User, withTotp } from '../users/user.ts'
import type { UserEditor } from '../users/user-operations.ts'
import type { Writes } from '../writes.ts'
import { createTotpCheck, readTotp, renderBase32 } from './totp.ts'

const SECRET_BYTES = 20
const SECRET = /^[A-Z2-7]{32}$/

/** A secret as a user gets it. SHA-1 with six digits is the only form that every authenticator app supports. */
export const createTotpSecret = (): string => renderBase32(randomBytes(SECRET_BYTES))

/** Users who change their own second factor, or its recovery codes, must have proved it: `second_factor_required`. */
export function createSecondFactors(parts: DirectoryParts, editor: UserEditor) {
  const { store } = parts
  const spendTotp = createTotpCheck(parts.beginUnasked('sign-in').store, parts.clock)
  const setTotp = (name: string, caller: Caller, totp?: Json): Promise<unknown> =>
    parts.administration.accounts().has(name)
      ? setAdministratorTotp(parts, name, caller, totp)
      : editor.changeUser(name, caller, (user) => withTotp(user, totp), { confirmsFactor: totp !== undefined })
  return {
    /**
     * `secret`: in base32, given to an app; `code`: one of it as proof. Replaces an earlier one. Returns new recovery codes. A wrong code is a `bad_request`. Ends all sessions and tokens of
     * the account, except the session of the request.
     */
    async enableTotp(name: string, caller: Caller, secret: string, code: string): Promise<readonly string[]> {
      const member = { key: secret, algorithm: 'sha', length: 6 }
      const totp = SECRET.test(secret) ? readTotp(member) : undefined
      if (!totp) throw badRequest('secret is not one that /account/totp has created.')
      await requireOwnProof(parts, name, caller)
      if (!(await spendTotp(toFactorKey(name, member), totp, code)))
        throw badRequest('The code is wrong, expired or used already.')
      const recoveryCodes = await replaceCodes(parts, name, caller, member)
      await setTotp(name, caller, member)
      return recoveryCodes
    },
    /** For an administrator, or the caller's own account. Also removes the recovery codes. */
    async removeTotp(name: string, caller: Caller): Promise<void> {
      const writes = await requireOwnProof(parts, name, caller)
      await setTotp(name, caller)
      await removeCodes(writes, name)
    },
    /** For a user, never for an administrator with the same name. */
    async removeUserTotp(name: string, caller: Caller): Promise<User> {
      const writes = await parts.begin(caller)
      const user = await editor.changeUser(name, caller, (before) => withTotp(before, undefined))
      await removeCodes(writes, name)
      return user
    },
    /** Throws `conflict` if the account has no second factor. */
    async replaceRecoveryCodes(name: string, caller: Caller): Promise<readonly string[]> {
      const account = await parts.findAccount(name)
      const factor = account && findFactor(account)
      if (factor === undefined) throw new Refusal('conflict', { reason: 'The account has no second factor.' })
      await requireOwnProof(parts, name, caller)
      return replaceCodes(parts, name, caller, factor)
    },
    /**
     * Called before a passkey is stored, because that may end the credential of the caller. The function that it returns
     * is called once the passkey is stored, if it is the first of an account without TOTP. It removes the recovery codes
     * of earlier passkeys, and returns new ones if the account needs a second factor.
     */
    async preparePasskeyCodes({ name, mustSetUpFactor }: Account, caller: Caller) {
      const writes = await parts.begin(caller)
      return async (): Promise<readonly string[] | undefined> => {
        if (mustSetUpFactor) return putCodes(parts, writes, name, PASSKEYS)
        await removeCodes(writes, name)
        return undefined
      }
    },
    async countRecoveryCodes(owner: FactorOwner): Promise<number> {
      const factor = findFactor(owner)
      return factor === undefined ? 0 : store.countRecoveryCodes(toFactorKey(owner.name, factor))
    },
    /** Whether this is a right code, of the app or for recovery. An accepted code cannot be used again on any node. */
    async spendCode(owner: FactorOwner, text: string): Promise<boolean> {
      const member = findFactor(owner) ?? null
      const totp = readTotp(member)
      if (totp === undefined && member !== PASSKEYS) return false
      const code = findRecoveryCode(text)
      const factor = toFactorKey(owner.name, member)
      if (code !== undefined) return spendRecoveryCode(parts, factor, code)
      return totp !== undefined && spendTotp(factor, totp, text)
    },
  }
}

async function spendRecoveryCode(parts: DirectoryParts, factor: FactorKey, code: string): Promise<boolean> {
  const { store } = parts.beginUnasked('sign-in')
  if (!(await store.useRecoveryCode(factor, toRecoveryDigest(factor, code)))) return false
  parts.events.record('recovery-code.used', { subject: factor.name, left: await store.countRecoveryCodes(factor) })
  return true
}

/** Stored before the second factor is: otherwise an interruption would leave one without recovery codes. */
const replaceCodes = async (parts: DirectoryParts, name: string, caller: Caller, totp: Json) =>
  putCodes(parts, await parts.begin(caller), name, totp)

async function putCodes({ events }: DirectoryParts, { store }: Pick<Writes, 'store'>, name: string, totp: Json) {
  const factor = toFactorKey(name, totp)
  const codes: readonly string[] = Array.from({ length: RECOVERY_CODES }, createCode)
  await store.putRecoveryCodes(
    factor,
    codes.map((code) => toRecoveryDigest(factor, code)),
  )
  events.record('recovery-codes.created', { subject: name })
  return codes
}

/** Called before anything is changed, for users and administrators. */
async function requireOwnProof({ begin, findAccount, ownKey }: DirectoryParts, name: string, caller: Caller) {
  const writes = await begin(caller)
  const account = await findAccount(name)
  if (account && needsSecondStep(account)) requireFactorProof(account, writes.confirmed, ownKey())
  return writes
}

const removeCodes = ({ store }: Pick<Writes, 'store'>, name: string): Promise<void> =>
  store.putRecoveryCodes({ name, version: '' }, [])

async function setAdministratorTotp(parts: DirectoryParts, name: string, caller: Caller, totp?: Json): Promise<void> {
  const { events, revocations } = parts
  const { administration, confirmed } = await parts.begin(caller)
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

/** The factor of an account whose passkeys are its only one, for recovery codes. No TOTP is a text. */
const PASSKEYS = 'passkeys'

const findFactor = ({ totp, needsPasskey }: FactorOwner): Json | undefined =>
  totp ?? (needsPasskey ? PASSKEYS : undefined)

/** Codes of one second factor, used or for recovery, say nothing about a later one. */
const toFactorKey = (name: string, totp: Json): FactorKey => ({
  name,
  version: digestHex('sha256', JSON.stringify(totp)).slice(0, 32),
})
