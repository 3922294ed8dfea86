/** Links an account at an identity provider with a link: that of an administrator to a user, or an invitation. */
import { digestHex } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { OperationDeps } from '../../dialects/admin-api/operation.ts'
import { PROGRAM, withCheck } from '../../directory/caller.ts'
import { type ExternalAccount, withField } from '../../directory/users/user.ts'
import { createInvited, type GivenLink, INVITATION, requireInvited } from './invited.ts'
import {
  type CheckingDeps,
  canLinkAccount,
  findLink,
  requireLink,
  SET_PASSWORD,
  spendLink,
  withoutPasskeys,
} from './links.ts'

type LinkingDeps = CheckingDeps &
  Pick<OperationDeps, 'events'> & {
    readonly directory: Pick<OperationDeps['directory'], 'linkAccount' | 'createWithAccount'>
  }

const isInvitation = async ({ statements }: CheckingDeps, digest: string): Promise<boolean> =>
  (await findLink(statements, digest))?.purpose === INVITATION.name

/** Throws unless an account can be linked with it. `name`: what an invited person has chosen. */
export async function requirePasswordLink(deps: CheckingDeps, token: string, name?: string): Promise<GivenLink> {
  const chosen = { digest: digestHex('sha256', token), name }
  if (await isInvitation(deps, chosen.digest)) {
    await requireInvited(deps, chosen)
    return chosen
  }
  const { user } = await requireLink(deps, [SET_PASSWORD], chosen.digest)
  if (!canLinkAccount(user))
    throw new Refusal('forbidden', { reason: 'Set a password with this link: the user has a second factor here.' })
  return chosen
}

interface AccountUse {
  readonly chosen: GivenLink
  readonly account: Omit<ExternalAccount, 'linkedAt'>
  /** The address of the client. */
  readonly peer: string
}

/** Each throws if the account could not sign in as the user: as one who exists, and as one with these roles. */
interface SignInRules {
  requireUser(name: string): Promise<unknown>
  requireRoles(roles: readonly string[]): void
}

/**
 * Uses the link: it is not valid afterwards. The user could have set a password with it, so the current one need not be
 * changed any more.
 */
export async function linkByPasswordLink(deps: LinkingDeps, { chosen, account, peer }: AccountUse, rules: SignInRules) {
  const { directory, events } = deps
  if (await isInvitation(deps, chosen.digest)) {
    const invited = await requireInvited(deps, chosen)
    rules.requireRoles(invited.data.roles ?? [])
    await createInvited(deps, { caller: { ...PROGRAM, peer }, invited }, (draft, caller) =>
      directory.createWithAccount(draft, caller, account),
    )
    return
  }
  const { link, isUnchanged } = await requireLink(deps, [SET_PASSWORD], chosen.digest)
  await rules.requireUser(link.name)
  await spendLink(deps, { link, caller: withCheck(PROGRAM, isUnchanged) }, (once) =>
    directory.linkAccount(link.name, once, account, (user) =>
      withField(withoutPasskeys(user), 'mustChangePassword', undefined),
    ),
  )
  events.record('password-link.used', { subject: link.name })
}
