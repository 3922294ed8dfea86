/**
 * Sign-up with an address that is verified first. The password is chosen with the link, by the person who has the mailbox:
 * otherwise a stranger who signs up with the address of another person knows the password of the account.
 */
import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import { badRequest } from '../../base/errors.ts'
import type { Call, OperationDeps } from '../../dialects/admin-api/operation.ts'
import { toAddressKey } from '../../directory/users/address.ts'
import { isNamedByAddress, NAMED_BY_ADDRESS } from '../../directory/users/apart.ts'
import { requireName } from '../../directory/users/check-user.ts'
import { requireFreeLink, spendLink } from '../password-links/links.ts'

export interface SignUp {
  readonly name: string
  readonly address: string
}

export const SIGN_UP = { name: 'sign-up', page: 'sign-up-link', lifetimeSeconds: 86_400 } as const

/** One for each address: a newer request ends the link of the older one. */
export const toSignUpLink = (given: SignUp) => ({
  name: toAddressKey(given.address),
  data: JSON.stringify(given),
})

/** A name with @ that is not the address may be the address of another person. */
export function requireNamedApart({ name, address }: SignUp): void {
  requireName(name)
  if (!isNamedByAddress({ name, address: { text: address, verifiedAt: 0 } })) throw badRequest(NAMED_BY_ADDRESS)
}

export const requireSignUp = (deps: OperationDeps, token: string) =>
  requireFreeLink<SignUp>(deps, SIGN_UP, digestHex('sha256', token))

/** Throws `conflict` if another user has got the name or the address meanwhile. */
export async function createSignedUp(
  deps: OperationDeps,
  { caller, requester }: Call,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<SignUp> {
  const { link, data } = await requireSignUp(deps, token)
  const { name, address } = data
  const verified = { text: address, verifiedAt: nowSeconds(deps.clock), provenBy: 'link' } as const
  const create = () =>
    spendLink(deps, { link, caller }, (once) =>
      deps.directory.createUser({ name, password: { password }, address: verified }, once),
    )
  await (requester ? requester.signUp(create) : create())
  return data
}
