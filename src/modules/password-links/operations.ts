import { digestHex } from '../../base/encoding.ts'
import { type Call, type OperationDeps, operation } from '../../dialects/admin-api/operation.ts'
import { object, type Static, text } from '../../dialects/admin-api/schemas/schema.ts'
import { requireManagedUser, toManager } from '../../dialects/admin-api/users/delegation.ts'
import { requireChange, withCheck } from '../../directory/caller.ts'
import type { User } from '../../directory/users/user.ts'
import { listRuleTexts } from '../../passwords/password-rules.ts'
import {
  canLinkAccount,
  createLink,
  RESET_PASSWORD,
  requireLink,
  SET_PASSWORD,
  spendLink,
  withoutPasskeys,
} from './links.ts'
import { LINK_OWNER, PASSWORD_LINK } from './schemas.ts'

/** Both are used on the same page. */
const PURPOSES = [SET_PASSWORD, RESET_PASSWORD]

const LINK_USE = object({ token: text(), password: text() })

/** Sets a password with a link, at every path that does so. */
export const USE_LINK = {
  body: LINK_USE,
  reply: object({ name: text() }),
  async run(deps: OperationDeps, { caller, body: { token, password } }: Call<unknown, Static<typeof LINK_USE>>) {
    const { link, purpose, isUnchanged } = await requireLink(deps, PURPOSES, digestHex('sha256', token))
    const change = (user: User) => (purpose === SET_PASSWORD ? withoutPasskeys(user) : user)
    // a person who has lost the password may have lost a device too: sessions end even if the password stays the same
    await spendLink(deps, { link, caller: withCheck(caller, isUnchanged) }, (once) =>
      deps.directory.changeUser(link.name, once, change, {
        password: { password },
        endsSessions: true,
        isOwnPassword: purpose === RESET_PASSWORD,
      }),
    )
    deps.events.record('password-link.used', { subject: link.name })
    return { name: link.name }
  },
}

export const PASSWORD_LINK_OPERATIONS = {
  'user.create-password-link': operation('POST /users/{name}/password-link', 'userAdmin', {
    summary: 'Create a link with which the user sets a password once, within an hour',
    reply: PASSWORD_LINK,
    async run(deps, call) {
      const user = await requireManagedUser(deps, call)
      await requireChange(toManager(deps, call), deps.events)
      const { url, expiresAt } = await createLink(deps, SET_PASSWORD, user)
      deps.events.record('password-link.created', { subject: user.name, seconds: SET_PASSWORD.lifetimeSeconds })
      return { url, expiresAt }
    },
  }),
  'password-link.find': operation('POST /password-links/find', 'anonymous', {
    summary: 'Show the user of a password link',
    body: object({ token: text() }),
    reply: LINK_OWNER,
    async run(deps, { body }) {
      const { user, purpose } = await requireLink(deps, PURPOSES, digestHex('sha256', body.token))
      const canLink = purpose === SET_PASSWORD && canLinkAccount(user) && deps.server?.external.isOpenToBrowsers()
      return { name: user.name, passwordRules: listRuleTexts(deps.passwordRules()), ...(canLink && { canLink }) }
    },
  }),
  'password-link.use': operation('POST /password-links/use', 'anonymous', {
    summary: 'Set a password with a link',
    ...USE_LINK,
  }),
}
