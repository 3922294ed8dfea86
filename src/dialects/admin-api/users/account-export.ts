/** What the server knows of a person, for the person. Nothing that proves an identity is part of it. */
import { nowSeconds, renderUtcTime } from '../../../base/clock.ts'
import { idOf } from '../../../directory/account.ts'
import { TOTP_MEMBER, type User } from '../../../directory/users/user.ts'
import { type Call, type OperationDeps, operation, requireAccountName } from '../operation.ts'
import { SESSION_RECORD } from '../schemas/account.ts'
import { listOf, mapOf, nullable, object, type Schema, text } from '../schemas/schema.ts'
import { LAST_SIGN_IN } from '../schemas/users.ts'
import { listTokens } from './account-tokens.ts'
import { showSessions } from './sessions.ts'
import { showSignIn, showUser } from './users.ts'

const ANYTHING: Schema<unknown> = {}

export const ACCOUNT_EXPORT_OPERATIONS = {
  'account.export': operation('GET /account/export', 'self', {
    summary: 'Export what the server knows of you; the audit trail is not part of it',
    reply: object({
      exportedAt: text('ISO 8601.'),
      name: text(),
      user: nullable(mapOf(ANYTHING), 'null: an administrator without a user.'),
      lastSignIn: LAST_SIGN_IN,
      sessions: listOf(SESSION_RECORD),
    }),
    run: (deps, call) => exportAccount(deps, call, requireAccountName(call)),
  }),
}

async function exportAccount(deps: OperationDeps, call: Call, name: string) {
  const user = await deps.directory.findUser(name)
  const signIns = await deps.directory.findLastSignIns([name])
  return {
    exportedAt: renderUtcTime(nowSeconds(deps.clock)),
    name,
    user: user ? await showWhole(deps, user) : null,
    lastSignIn: showSignIn(signIns.get(name)),
    ...(await showSessions(deps, call, name)),
  }
}

async function showWhole(deps: OperationDeps, user: User): Promise<Readonly<Record<string, unknown>>> {
  const { address, document, multiModel, links = [], passkeys = [] } = user
  return {
    ...showUser(user),
    id: idOf(user),
    address: address ? { text: address.text, verifiedAt: renderUtcTime(address.verifiedAt) } : null,
    members: Object.fromEntries(document.members.filter(([member]) => member !== TOTP_MEMBER)),
    hasOneTimeCodes: document.members.some(([member]) => member === TOTP_MEMBER),
    extra: multiModel.extra,
    config: multiModel.config,
    externalAccounts: links,
    passkeys: passkeys.map(({ publicKey: _publicKey, ...passkey }) => passkey),
    accessTokens: await listTokens(deps, user),
  }
}
