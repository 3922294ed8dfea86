/** Names and verified addresses of different users must not be alike where both sign in. */
import type { Apart } from '../store-port/users.ts'
import { listForms, readAddress, toAddressKey } from './address.ts'
import type { UserDraft, UserRecord } from './user.ts'

/** What a write must keep apart from other users: what it does not change may have been so before. */
export function findApart(before: UserRecord | undefined, after: UserRecord): Apart {
  if (after.kind !== 'user') return {}
  const current = before?.kind === 'user' ? before : undefined
  const named = current ? undefined : readAddress(after.name)
  const address = after.address?.text
  const isNew = address !== undefined && current?.address?.text !== address
  return {
    ...(named !== undefined && { addressKey: toAddressKey(named) }),
    ...(isNew && { names: listForms(address) }),
  }
}

export const NAMED_BY_ADDRESS = 'A name with @ must be the verified e-mail address of the user.'

/** Also where the name could not be mistaken for an address. */
export function isNamedByAddress({ name, address }: Pick<UserDraft, 'name' | 'address'>): boolean {
  const named = readAddress(name)
  if (!name.includes('@')) return true
  return named !== undefined && address !== undefined && toAddressKey(named) === toAddressKey(address.text)
}
