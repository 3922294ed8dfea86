import type { UserRange } from '../store-port/users.ts'
import type { User } from './user.ts'

const PAGE_SIZE = 500

/** All users of a range, page by page: the directory may be larger than the memory. */
export async function* listUserPages(
  directory: { listUsers(range: UserRange): Promise<readonly User[]> },
  range: Omit<UserRange, 'limit'> = {},
): AsyncGenerator<readonly User[]> {
  let next: UserRange | undefined = { ...range, limit: PAGE_SIZE }
  while (next) {
    const page: readonly User[] = await directory.listUsers(next)
    yield page
    const last = page.at(-1)
    next = last && page.length === PAGE_SIZE ? { ...next, from: { name: last.name, isInclusive: false } } : undefined
  }
}
