/**
 * One-time links with which a user sets a password, or links an account at an identity provider. The secret in a link is
 * stored as a digest and never part of a path: paths are logged. A link ends when it is used, after an hour, with the
 * next one, and with every change of the user, because its creator may not be allowed to manage the changed user. The
 * `version` of a link detects a change between reading the user and storing the link. Without `console.public-url` a link
 * is a path: the host that a request names may be that of an attacker.
 */

import { createHash, randomBytes } from 'node:crypto'
import { nowSeconds } from '../../../base/clock.ts'
import { digestHex } from '../../../base/encoding.ts'
import { Refusal } from '../../../base/errors.ts'
import { confirmChange } from '../../../directory/confirm-change.ts'
import type { PasswordLink } from '../../../directory/store-port/one-time-secrets.ts'
import { type ExternalAccount, findTotp, isExpired, type User, withField } from '../../../directory/users/user.ts'
import type { CheckWrite } from '../../../directory/users/user-operations.ts'
import { listRuleTexts } from '../../../passwords/password-rules.ts'
import { CONSOLE_PATH } from '../../own-paths.ts'
import { type Call, type OperationDeps, operation } from '../operation.ts'
import { LINK_OWNER } from '../schemas/account.ts'
import { object, text } from '../schemas/schema.ts'
import { PASSWORD_LINK } from '../schemas/users.ts'
import { requireManagedUser } from './delegation.ts'

const LIFETIME_SECONDS = 3600
const TOKEN_BYTES = 32

export const PASSWORD_LINK_OPERATIONS = {
  'user.create-password-link': operation('POST /users/{name}/password-link', 'userAdmin', {
    summary: 'Create a link with which the user sets a password once, within an hour',
    reply: PASSWORD_LINK,
    async run(deps, call) {
      const user = await requireManagedUser(deps, call)
      const token = randomBytes(TOKEN_BYTES).toString('base64url')
      const expiresAt = nowSeconds(deps.clock) + LIFETIME_SECONDS
      const link = { name: user.name, digest: digestHex('sha256', token), version: toVersion(user), expiresAt }
      await confirmChange(deps.events)
      await deps.passwordLinks.putPasswordLink(link, nowSeconds(deps.clock.purge))
      deps.events.record('password-link.created', { subject: user.name, seconds: LIFETIME_SECONDS })
      return { url: `${deps.publicUrl().replace(/\/+$/, '')}${CONSOLE_PATH}#/password-link/${token}`, expiresAt }
    },
  }),
  'password-link.find': operation('POST /password-links/find', 'anonymous', {
    summary: 'Show the user of a password link',
    body: object({ token: text() }),
    reply: LINK_OWNER,
    async run(deps, { body }) {
      const { user } = await requireLink(deps, digestHex('sha256', body.token))
      const canLink = canLinkAccount(user) && (deps.server?.hasSignInProviders() ?? false)
      return { name: user.name, passwordRules: listRuleTexts(deps.passwordRules()), ...(canLink && { canLink }) }
    },
  }),
  'password-link.use': operation('POST /password-links/use', 'anonymous', {
    summary: 'Set a password with a link',
    body: object({ token: text(), password: text() }),
    reply: object({ name: text() }),
    async run(deps, call) {
      const { link } = await requireLink(deps, digestHex('sha256', call.body.token))
      await setPassword(deps, call, link, call.body.password)
      deps.events.record('password-link.used', { subject: link.name })
      return { name: link.name }
    },
  }),
}

export type PasswordLinkDeps = Pick<OperationDeps, 'passwordLinks' | 'clock' | 'events'> & {
  readonly directory: Pick<OperationDeps['directory'], 'findUser' | 'isAdministrator' | 'linkAccount'>
}

/** The account that is linked would sign in without the second factor of the user. */
const canLinkAccount = (user: User): boolean => findTotp(user) === undefined

/** The digest of a link with which a user may link an account at an identity provider. */
export async function requirePasswordLink(deps: PasswordLinkDeps, token: string): Promise<string> {
  const { link, user } = await requireLink(deps, digestHex('sha256', token))
  if (!canLinkAccount(user))
    throw new Refusal('forbidden', { reason: 'Set a password with this link: the user has a second factor here.' })
  return link.digest
}

/**
 * Uses the link: it is not valid afterwards. `requireAllowed` throws if the account could not sign in as the user. The
 * user could have set a password with the link, so the current one need not be changed any more.
 */
export async function linkByPasswordLink(
  deps: PasswordLinkDeps,
  digest: string,
  account: Omit<ExternalAccount, 'linkedAt'>,
  requireAllowed: (name: string) => Promise<unknown>,
): Promise<void> {
  const { link } = await requireLink(deps, digest)
  await requireAllowed(link.name)
  await deps.directory.linkAccount(link.name, createUnchangedCheck(deps, link), account, (user) =>
    withField(user, 'mustChangePassword', undefined),
  )
  await deps.passwordLinks.removePasswordLink(digest)
  deps.events.record('password-link.used', { subject: link.name })
}

/** The same error for every link that is not valid, whether it ever was or not. */
async function requireLink(
  { directory, passwordLinks, clock }: Pick<PasswordLinkDeps, 'directory' | 'passwordLinks' | 'clock'>,
  digest: string,
) {
  const link = await passwordLinks.findPasswordLink(digest)
  const user = link && (await directory.findUser(link.name))
  if (!user || directory.isAdministrator(user.name) || !isCurrent(link, user, nowSeconds(clock)))
    throw new Refusal('not_found', { reason: INVALID })
  return { link, user }
}

const INVALID = 'This link is not valid. It may have been used or have expired; ask for a new one.'

const isCurrent = (link: PasswordLink, user: User, now: number): boolean =>
  link.expiresAt > now && link.version === toVersion(user) && user.isActive && !isExpired(user, now)

/**
 * If two requests use a link at the same time, the second finds a changed user and is rejected. While the password was
 * hashed, the user may have become an administrator.
 */
const createUnchangedCheck =
  ({ directory, clock }: Pick<PasswordLinkDeps, 'directory' | 'clock'>, link: PasswordLink): CheckWrite =>
  (user) => {
    if (directory.isAdministrator(user.name) || !isCurrent(link, user, nowSeconds(clock)))
      throw new Refusal('not_found', { reason: INVALID })
  }

async function setPassword(deps: OperationDeps, call: Call, link: PasswordLink, password: string): Promise<void> {
  const caller = { signal: call.signal, peer: call.caller?.peer }
  await deps.directory.setPassword(link.name, createUnchangedCheck(deps, link), { password }, caller)
  await deps.passwordLinks.removePasswordLink(link.digest)
}

function toVersion({ password, sessionEpoch, expiresAt, document, multiModel, links = [] }: User): string {
  const grants = [...multiModel.grants].map(([name, { level, collections }]) => [name, level ?? null, [...collections]])
  return createHash('sha256')
    .update(JSON.stringify([password, document.roles, grants, expiresAt ?? null, sessionEpoch.generation, ...links]))
    .digest('hex')
}
