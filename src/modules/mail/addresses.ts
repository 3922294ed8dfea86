/** How a user comes to a verified address: an administrator sets it, or its owner uses a link that was sent there. */
import { nowSeconds } from '../../base/clock.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import type { OperationDeps } from '../../dialects/admin-api/operation.ts'
import { idOf } from '../../directory/account.ts'
import { type Caller, withCheck } from '../../directory/caller.ts'
import { readAddress, type VerifiedAddress } from '../../directory/users/address.ts'
import { type User, withField } from '../../directory/users/user.ts'
import { type LinkPurpose, requireLink, SET_PASSWORD, spendLink } from '../password-links/links.ts'

const DAY_SECONDS = 86_400

/** It ends when the user gets an address in another way, another password or other rights. */
export const CONFIRM_ADDRESS: LinkPurpose = {
  name: 'address',
  page: 'address-link',
  lifetimeSeconds: DAY_SECONDS,
  toVersion: (user) => JSON.stringify([idOf(user), user.address?.text ?? null, SET_PASSWORD.toVersion(user)]),
}

/** What a link confirms. */
interface Confirmation {
  readonly address: string
  /** Whether the user asked for it, and not an administrator. */
  readonly isOwn: boolean
}

export const renderConfirmation = ({ address, isOwn }: Confirmation): string => JSON.stringify({ address, isOwn })

// the function above has written it
export const readConfirmation = (data: string): Confirmation => JSON.parse(data) as Confirmation

export function requireAddress(given: string): string {
  const address = readAddress(given)
  if (address === undefined) throw badRequest('address must be an e-mail address, with an ASCII name before the @.')
  return address
}

interface NewAddress {
  readonly name: string
  readonly caller: Caller
  /** `undefined` removes the address. */
  readonly address: string | undefined
  readonly provenBy?: VerifiedAddress['provenBy']
}

/** Throws `conflict` if another user has it. */
export async function setAddress(
  { directory, clock }: Pick<OperationDeps, 'directory' | 'clock'>,
  { name, caller, address, provenBy }: NewAddress,
): Promise<User> {
  if (directory.isAdministrator(name))
    throw new Refusal('conflict', { reason: 'Administrators of the configuration have no address.' })
  const verifiedAt = nowSeconds(clock)
  const value = address === undefined ? undefined : { text: address, verifiedAt, ...(provenBy && { provenBy }) }
  return directory.changeUser(name, caller, (user) => withField(user, 'address', value))
}

/** Uses the link: it is not valid afterwards. */
export async function confirmAddress(deps: OperationDeps, caller: Caller, digest: string): Promise<User> {
  const { link, isUnchanged } = await requireLink(deps, [CONFIRM_ADDRESS], digest)
  const { address, isOwn } = readConfirmation(link.data)
  const provenBy = isOwn ? 'link' : undefined
  return spendLink(deps, { link, caller: withCheck(caller, isUnchanged) }, (once) =>
    setAddress(deps, { name: link.name, caller: once, address, provenBy }),
  )
}
