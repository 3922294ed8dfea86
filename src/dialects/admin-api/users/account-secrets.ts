// What a user signs in with: the password, the second factor and its recovery codes.
import { PRODUCT } from '../../../base/product.ts'
import { createTotpSecret } from '../../../directory/second-factor/second-factor.ts'
import { type Call, CURRENT_PASSWORD, type OperationDeps, operation, PROOF, requireAccountName } from '../operation.ts'
import { RECOVERY_CODES } from '../schemas/account.ts'
import { flag, integer, object, text } from '../schemas/schema.ts'
import { requireAccount } from './account.ts'
import { showSessions } from './sessions.ts'

export const ACCOUNT_SECRET_OPERATIONS = {
  'account.set-password': operation('PUT /account/password', 'self', {
    isBeforeRequiredActions: true,
    summary: 'Change your password; a browser gets the cookie of a new session',
    body: object({ password: text(), 'current_password?': text('Required for a session.') }),
    reply: object({ endedSessions: integer('0: it was this password already.') }),
    async run(deps, call) {
      await call.caller?.requireCurrentPassword(call.body.current_password)
      return setPassword(deps, call, call.body.password)
    },
  }),
  'account.create-totp': operation('POST /account/totp', 'self', {
    setsUpFactor: true,
    summary: 'Create a secret for an authenticator app, which takes effect when it is confirmed',
    reply: object({ secret: text('In base32.'), uri: text('As a QR code for the app.') }),
    run(_deps, call) {
      const secret = createTotpSecret()
      return { secret, uri: toUri(requireAccountName(call), secret) }
    },
  }),
  'account.confirm-totp': operation('POST /account/totp/confirm', 'self', {
    setsUpFactor: true,
    summary: 'Require one-time codes of this secret from now on, and end all other sessions and tokens',
    body: object({ secret: text(), code: text('The current code of the app.'), ...CURRENT_PASSWORD }),
    reply: RECOVERY_CODES,
    async run({ directory }, call) {
      const { secret, code, current_password: current } = call.body
      await call.caller?.requirePassword(current)
      return { recoveryCodes: await directory.enableTotp(requireAccountName(call), secret, code) }
    },
  }),
  'account.remove-totp': operation('DELETE /account/totp', 'self', {
    summary: 'Remove your second factor',
    ...PROOF,
    reply: object({ isEnabled: flag() }),
    async run({ directory }, call) {
      await call.caller?.requirePassword(call.body.current_password)
      await directory.removeTotp(requireAccountName(call))
      return { isEnabled: false }
    },
  }),
  'account.replace-recovery-codes': operation('POST /account/recovery-codes', 'self', {
    summary: 'Replace your recovery codes',
    ...PROOF,
    reply: RECOVERY_CODES,
    async run({ directory }, call) {
      await call.caller?.requirePassword(call.body.current_password)
      return { recoveryCodes: await directory.replaceRecoveryCodes(requireAccountName(call)) }
    },
  }),
}

/** If the password differs from the current one, all sessions end, and a browser gets a new session. */
async function setPassword(deps: OperationDeps, call: Call, password: string): Promise<{ endedSessions: number }> {
  const { name, isAdmin, sessionEpoch } = await requireAccount(deps, call)
  const { sessions } = await showSessions(deps, call, name)
  const caller = { signal: call.signal, peer: call.caller?.peer }
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
