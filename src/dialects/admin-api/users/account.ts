// The account of the signed-in user: what it may do, and the rules for its password.
import { renderUtcTime } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import type { Account } from '../../../directory/account.ts'
import { listPasswordProblems, listRuleTexts } from '../../../passwords/password-rules.ts'
import { type Call, type OperationDeps, operation, requireAccountName } from '../operation.ts'
import { showRights } from '../rights.ts'
import { ACCOUNT, type Account as ShownAccount } from '../schemas/account.ts'
import { listOf, object, text } from '../schemas/schema.ts'

export const ACCOUNT_OPERATIONS = {
  'account.show': operation('GET /account', 'self', {
    isBeforeRequiredActions: true,
    summary: 'Show your account',
    reply: ACCOUNT,
    async run(deps, call) {
      const account = await requireAccount(deps, call)
      return showAccount(deps, account, await deps.directory.countRecoveryCodes(account))
    },
  }),
  'account.check-password': operation('POST /account/check-password', 'self', {
    isBeforeRequiredActions: true,
    summary: 'Check a new password by the rules of the server',
    body: object({ password: text() }),
    reply: object({ problems: listOf(text(), 'A sentence for each rule that it breaks.') }),
    run: ({ passwordRules }, { body }) => ({ problems: listPasswordProblems(passwordRules(), body.password) }),
  }),
}

/** A name in a token of another issuer may have no account here. */
export async function requireAccount({ directory }: OperationDeps, call: Call): Promise<Account> {
  const account = await directory.findAccount(requireAccountName(call))
  if (!account) throw new Refusal('not_found', { reason: 'Your name has no account on this server.' })
  return account
}

const showAccount = (
  { passwordRules, userAdminRole }: OperationDeps,
  account: Account,
  recoveryCodesLeft: number,
): ShownAccount => ({
  name: account.name,
  isAdministrator: account.isAdmin,
  rights: showRights(account, userAdminRole()),
  roles: account.roles,
  mustChangePassword: account.mustChangePassword === true,
  ...(account.mustSetUpFactor && { mustSetUpFactor: true }),
  ...(account.expiresAt !== undefined && { expires: renderUtcTime(account.expiresAt) }),
  totp: { isEnabled: account.totp !== undefined, recoveryCodesLeft },
  passwordRules: listRuleTexts(passwordRules()),
})
