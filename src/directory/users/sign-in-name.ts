/** Where `DirectorySettings.addressesSignIn` is on, a verified address is as good as the name of its user. */
import { badRequest } from '../../base/errors.ts'
import type { Caller } from '../caller.ts'
import type { DirectoryParts } from '../parts.ts'
import { readAddress } from './address.ts'
import { isNamedByAddress, NAMED_BY_ADDRESS } from './apart.ts'
import type { User, UserDraft } from './user.ts'

/** What a client types as a name. */
export const createSignInNames = (
  { settings, administration, cache }: Pick<DirectoryParts, 'settings' | 'administration' | 'cache'>,
  findAddressOwner: (address: string) => Promise<User | undefined>,
) => ({
  /** The name of the account that the text leads to. A name wins over an address that looks like it. */
  async findSignInName(given: string): Promise<string> {
    const address = settings().addressesSignIn ? readAddress(given) : undefined
    if (address === undefined || administration.accounts().has(given)) return given
    if ((await cache.find(given)).record?.kind === 'user') return given
    const owner = await findAddressOwner(address)
    return owner && !administration.accounts().has(owner.name) ? owner.name : toUnknownName(address)
  },
})

/** No user has it. The limits count it as one name, however the address is written, as they count a known one. */
const toUnknownName = (address: string): string => `:${address.toLowerCase()}`

/** An administrator may give any name; another client, a name with `@` only if it is the verified address of the user. */
export function requireOwnAddress(
  { settings }: Pick<DirectoryParts, 'settings'>,
  draft: UserDraft,
  { peer }: Caller,
): void {
  if (settings().addressesSignIn && peer !== undefined && !isNamedByAddress(draft)) throw badRequest(NAMED_BY_ADDRESS)
}
