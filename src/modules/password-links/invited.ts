/**
 * Users that an invitation creates. The person chooses a password, or an account at an identity provider: then the user is
 * created when that account has signed in, so that a person who gives up on the way can begin again.
 */
import { nowSeconds } from '../../base/clock.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import type { OperationDeps } from '../../dialects/admin-api/operation.ts'
import { listOf, object, type Static, text } from '../../dialects/admin-api/schemas/schema.ts'
import { NEW_GRANT } from '../../dialects/admin-api/schemas/users.ts'
import { readUserDraft } from '../../dialects/admin-api/users/user-input.ts'
import type { Caller } from '../../directory/caller.ts'
import { requireName } from '../../directory/users/check-user.ts'
import type { User, UserDraft } from '../../directory/users/user.ts'
import { type FreePurpose, requireFreeLink, spendLink } from './links.ts'

export const INVITATION: FreePurpose = { name: 'invitation', page: 'invitation-link', lifetimeSeconds: 0 }

export const INVITED = object({
  address: text(),
  'name?': text('Left out: the person chooses it.'),
  'roles?': listOf(text()),
  'grants?': listOf(NEW_GRANT),
})
export type InvitationView = Static<typeof INVITED>

export type InvitedDeps = Pick<OperationDeps, 'statements' | 'clock'> & {
  readonly directory: Pick<OperationDeps['directory'], 'findUser' | 'isAdministrator'>
}

/** The digest of a link, and the name that the person has chosen if it is an invitation that leaves the name open. */
export interface GivenLink {
  readonly digest: string
  readonly name?: string | undefined
}

type Invited = Awaited<ReturnType<typeof requireInvited>>

/** Throws if the invitation is not valid, or if its user cannot have the name. */
export async function requireInvited(deps: InvitedDeps, { digest, name: chosen }: GivenLink) {
  const { link, data } = await requireFreeLink<InvitationView>(deps, INVITATION, digest)
  const { name = chosen } = data
  if (name === undefined || (chosen !== undefined && chosen !== name))
    throw badRequest(name === undefined ? 'Choose a name.' : 'The name of the invitation cannot be changed.')
  if (await isNameTaken(deps, name)) throw nameTaken()
  return { link, data: { ...data, name } }
}

export const nameTaken = () => new Refusal('conflict', { reason: 'This name is taken.' })

/** The name is checked again when the user is created. */
export async function isNameTaken({ directory }: Pick<InvitedDeps, 'directory'>, name: string): Promise<boolean> {
  requireName(name)
  return directory.isAdministrator(name) || (await directory.findUser(name)) !== undefined
}

/** Throws `conflict` if another user has got the name or the address meanwhile. */
export async function createInvited(
  deps: InvitedDeps,
  { caller, invited: { link, data } }: { readonly caller: Caller; readonly invited: Invited },
  create: (draft: UserDraft, caller: Caller) => Promise<User>,
): Promise<User> {
  const { address, ...draft } = data
  const verified = { text: address, verifiedAt: nowSeconds(deps.clock), provenBy: 'link' } as const
  return spendLink(deps, { link, caller }, (once) => create({ ...readUserDraft(draft), address: verified }, once))
}
