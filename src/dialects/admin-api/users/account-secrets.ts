// What a user signs in with: the password, the second factor and its recovery codes.
import { PRODUCT } from '../../../base/product.ts'
import { createTotpSecret } from '../../../directory/second-factor/second-factor.ts'
import { findText, readMembers, requireText } from '../json.ts'
import { type Call, CURRENT_PASSWORD, type Operation, type OperationDeps, requireAccountName } from '../operation.ts'
import { requireAccount } from './account.ts'
import { showSessions } from './sessions.ts'
import { findCurrentPassword } from './users.ts'

export const ACCOUNT_SECRET_OPERATIONS = {
  'account.set-password': {
    method: 'PUT',
    path: '/account/password',
    allowed: 'self',
    isBeforePasswordChange: true,
    async run(deps, call) {
      const members = readMembers(call.body, ['password', CURRENT_PASSWORD])
      const password = requireText(members, 'password')
      await call.caller?.requireCurrentPassword(findText(members, CURRENT_PASSWORD))
      return setPassword(deps, call, password)
    },
  },
  'account.create-totp': {
    method: 'POST',
    path: '/account/totp',
    allowed: 'self',
    run(_deps, call) {
      const secret = createTotpSecret()
      return { secret, uri: toUri(requireAccountName(call), secret) }
    },
  },
  'account.confirm-totp': {
    method: 'POST',
    path: '/account/totp/confirm',
    allowed: 'self',
    async run({ directory }, call) {
      const members = readMembers(call.body, ['secret', 'code', CURRENT_PASSWORD])
      const totp = { secret: requireText(members, 'secret'), code: requireText(members, 'code') }
      await call.caller?.requirePassword(findText(members, CURRENT_PASSWORD))
      return { recoveryCodes: await directory.enableTotp(requireAccountName(call), totp) }
    },
  },
  'account.remove-totp': {
    method: 'DELETE',
    path: '/account/totp',
    allowed: 'self',
    async run({ directory }, call) {
      await call.caller?.requirePassword(findCurrentPassword(call))
      await directory.removeTotp(requireAccountName(call))
      return { isEnabled: false }
    },
  },
  'account.replace-recovery-codes': {
    method: 'POST',
    path: '/account/recovery-codes',
    allowed: 'self',
    async run({ directory }, call) {
      await call.caller?.requirePassword(findCurrentPassword(call))
      return { recoveryCodes: await directory.replaceRecoveryCodes(requireAccountName(call)) }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

/** If the password differs from the current one, all sessions end, and a browser gets a new session. */
async function setPassword(deps: OperationDeps, call: Call, password: string): Promise<{ endedSessions: number }> {
  const { name, isAdmin, sessionEpoch } = await requireAccount(deps, call)
  const { sessions } = await showSessions(deps, call, name)
  const caller = { ...(call.signal && { signal: call.signal }), ...(call.caller && { peer: call.caller.peer }) }
  if (isAdmin) await deps.directory.setAdministrator(name, { password }, { ...caller, expected: 'existing' })
  else await deps.directory.setPassword(name, { password }, caller)
  const { sessionEpoch: after } = await requireAccount(deps, call)
  if (after.generation === sessionEpoch.generation) return { endedSessions: 0 }
  await call.caller?.reopenSession()
  return { endedSessions: sessions.length }
}

/** The URI that authenticator apps read from a QR code. */
function toUri(name: string, secret: string): string {
  const label = encodeURIComponent(`${PRODUCT.name}:${name}`)
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(PRODUCT.name)}`
}
