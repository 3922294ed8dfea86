// The account of the signed-in user: what it may do, its password, its second factor and the recovery codes.
import { renderUtcTime } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import { PRODUCT } from '../../../base/product.ts'
import { type Account, idOf, isAccount } from '../../../directory/account.ts'
import { hasPassword } from '../../../directory/password-proof.ts'
import { createTotpSecret } from '../../../directory/second-factor/second-factor.ts'
import { listPasswordProblems, listRuleTexts } from '../../../passwords/password-rules.ts'
import { type Call, CURRENT_PASSWORD, type OperationDeps, operation, PROOF, requireAccountName } from '../operation.ts'
import { showRights } from '../rights.ts'
import { ACCOUNT, type AccountView, RECOVERY_CODES } from '../schemas/account.ts'
import { flag, integer, listOf, object, text } from '../schemas/schema.ts'
import { showSessions } from './sessions.ts'

export const ACCOUNT_OPERATIONS = {
  'account.show': operation('GET /account', 'self', {
    isBeforeRequiredActions: true,
    summary: 'Show your account',
    reply: ACCOUNT,
    async run(deps, call) {
      const account = await requireAccount(deps, call)
      const codes = await deps.directory.countRecoveryCodes(account)
      // in a session of an external account, the user has more roles
      const acting = call.requester && isAccount(call.requester.identity) ? call.requester.identity : account
      return showAccount(deps, acting, codes)
    },
  }),
  'account.delete': operation('DELETE /account', 'self', {
    summary: 'Delete your account',
    ...PROOF,
    reply: object({ name: text(), revision: text('Of the deletion.') }),
    async run({ directory }, call) {
      const name = requireAccountName(call)
      await call.requester?.requirePassword(call.body.current_password)
      if (directory.isAdministrator(name) && !(await directory.findUser(name)))
        throw new Refusal('not_found', { reason: `${name} is an administrator: another one can remove it.` })
      return { name, revision: await directory.removeUser(name, call.caller, 'any') }
    },
  }),
  'account.check-password': operation('POST /account/check-password', 'self', {
    isBeforeRequiredActions: true,
    summary: 'Check a new password by the rules of the server',
    body: object({ password: text(), 'name?': text('Of the account that gets it; your own by default.') }),
    reply: object({ problems: listOf(text(), 'A sentence for each rule that it breaks.') }),
    async run({ directory, passwordRules }, call) {
      const own = requireAccountName(call)
      const { password, name = own } = call.body
      // only the own one: the problems would reveal that of another user
      const address = name === own ? (await directory.findUser(own))?.address?.text : undefined
      return { problems: await listPasswordProblems(passwordRules(), password, address ? [name, address] : [name]) }
    },
  }),
  'account.set-password': operation('PUT /account/password', 'self', {
    isBeforeRequiredActions: true,
    summary: 'Change your password; a browser gets the cookie of a new session',
    body: object({
      password: text(),
      ...CURRENT_PASSWORD,
      'current_password?': text('A session needs it, or a passkey.'),
    }),
    reply: object({ endedSessions: integer('0: it was this password already.') }),
    async run(deps, call) {
      await call.requester?.requireCurrentPassword(call.body.current_password)
      return setPassword(deps, call, call.body.password)
    },
  }),
  'account.create-totp': operation('POST /account/totp', 'self', {
    setsUpFactor: true,
    summary: 'Create a secret for an authenticator app, which takes effect when it is confirmed',
    ...PROOF,
    reply: object({ secret: text('In base32.'), uri: text('As a QR code for the app.') }),
    async run(_deps, call) {
      await call.requester?.requirePassword(call.body.current_password)
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
      await call.requester?.requirePassword(current)
      return { recoveryCodes: await directory.enableTotp(requireAccountName(call), call.caller, secret, code) }
    },
  }),
  'account.remove-totp': operation('DELETE /account/totp', 'self', {
    summary: 'Remove your second factor',
    ...PROOF,
    reply: object({ isEnabled: flag() }),
    async run({ directory }, call) {
      await call.requester?.requirePassword(call.body.current_password)
      await directory.removeTotp(requireAccountName(call), call.caller)
      return { isEnabled: false }
    },
  }),
  'account.replace-recovery-codes': operation('POST /account/recovery-codes', 'self', {
    summary: 'Replace your recovery codes',
    ...PROOF,
    reply: RECOVERY_CODES,
    async run({ directory }, call) {
      await call.requester?.requirePassword(call.body.current_password)
      return { recoveryCodes: await directory.replaceRecoveryCodes(requireAccountName(call), call.caller) }
    },
  }),
}

/** A name in a token of another issuer may have no account here. */
async function requireAccount({ directory }: OperationDeps, call: Call): Promise<Account> {
  const account = await directory.findAccount(requireAccountName(call))
  if (!account) throw new Refusal('not_found', { reason: 'Your name has no account on this server.' })
  return account
}

async function showAccount(deps: OperationDeps, account: Account, recoveryCodesLeft: number): Promise<AccountView> {
  const database = await deps.findOwnDatabase(account)
  return {
    name: account.name,
    id: idOf(account),
    isAdministrator: account.isAdmin,
    rights: showRights(account, deps.userAdminRole()),
    roles: account.roles,
    hasPassword: hasPassword(account),
    mustChangePassword: account.mustChangePassword === true,
    ...(account.mustSetUpFactor && { mustSetUpFactor: true }),
    ...(account.expiresAt !== undefined && { expires: renderUtcTime(account.expiresAt) }),
    ...(account.needsPasskey && { needsPasskey: true }),
    totp: { isEnabled: account.totp !== undefined, recoveryCodesLeft },
    ...(database !== undefined && { database }),
    passwordRules: listRuleTexts(deps.passwordRules()),
  }
}

/** If the password differs from the current one, all sessions end, and a browser gets a new session. */
async function setPassword(deps: OperationDeps, call: Call, password: string): Promise<{ endedSessions: number }> {
  const { name, isAdmin, sessionEpoch } = await requireAccount(deps, call)
  const { sessions } = await showSessions(deps, call, name)
  if (isAdmin) await deps.directory.setAdministrator(name, call.caller, { password }, { expected: 'existing' })
  else await deps.directory.setPassword(name, call.caller, { password }, { isOwnPassword: true })
  const { sessionEpoch: after } = await requireAccount(deps, call)
  if (after.generation === sessionEpoch.generation) return { endedSessions: 0 }
  await call.requester?.reopenSession()
  return { endedSessions: sessions.length }
}

/** The URI that authenticator apps read from a QR code. */
function toUri(name: string, secret: string): string {
  const label = encodeURIComponent(`${PRODUCT.name}:${name}`)
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(PRODUCT.name)}`
}
