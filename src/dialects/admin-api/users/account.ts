// The account of the signed-in user: what it may do, and the rules for its password.
import { renderUtcTime } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import type { Account } from '../../../directory/account.ts'
import { listPasswordProblems, listRuleTexts } from '../../../passwords/password-rules.ts'
import { readMembers, requireText } from '../json.ts'
import { type Call, type Operation, type OperationDeps, requireAccountName } from '../operation.ts'
import { type ShownRights, showRights } from '../rights.ts'

export interface ShownAccount {
  readonly name: string
  readonly isAdministrator: boolean
  readonly rights: ShownRights | undefined
  readonly roles: readonly string[]
  readonly mustChangePassword: boolean
  /** From then on the user cannot sign in; absent: never. */
  readonly expires?: string
  readonly totp: { readonly isEnabled: boolean; readonly recoveryCodesLeft: number }
  /** What a new password must satisfy, in the words of the configuration. */
  readonly passwordRules: readonly string[]
}

export const ACCOUNT_OPERATIONS = {
  'account.show': {
    method: 'GET',
    path: '/account',
    allowed: 'self',
    isBeforePasswordChange: true,
    async run(deps, call) {
      const account = await requireAccount(deps, call)
      return showAccount(deps, account, await deps.directory.countRecoveryCodes(account))
    },
  },
  'account.check-password': {
    method: 'POST',
    path: '/account/check-password',
    allowed: 'self',
    isBeforePasswordChange: true,
    run({ passwordRules }, { body }) {
      const password = requireText(readMembers(body, ['password']), 'password')
      return { problems: listPasswordProblems(passwordRules(), password) }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

/** A name in a token of another issuer may have no account here. */
export async function requireAccount({ directory }: OperationDeps, call: Call): Promise<Account> {
  const account = await directory.findAccount(requireAccountName(call))
  if (!account) throw new Refusal('not_found', { about: 'Your name has no account on this server.' })
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
  ...(account.expiresAt !== undefined && { expires: renderUtcTime(account.expiresAt) }),
  totp: { isEnabled: account.totp !== undefined, recoveryCodesLeft },
  passwordRules: listRuleTexts(passwordRules()),
})
