import { isDeepStrictEqual } from 'node:util'
import type { Exchange } from '../door/exchange.ts'
import type { Account } from '../identity/account.ts'
import type { Directory } from '../identity/directory.ts'
import type { Authenticated, Identity } from '../identity/identity.ts'

/**
 * Whether what let a request in would let it in now, with the same rights. A password is not checked again: it would
 * be hashed, and each stream of somebody who changed it counted as a failure to sign in.
 */
export function createStillHolds(
  directory: Pick<Directory, 'findAccount'>,
  identify: (exchange: Exchange) => Promise<Authenticated>,
): (exchange: Exchange) => Promise<boolean> {
  return async (exchange) => {
    const before = exchange.authenticated
    if (before === undefined || before.by === null) return true
    if (isAccount(before.identity) && hasPassword(exchange)) {
      const account = await directory.findAccount(before.identity.name)
      return account !== undefined && isSameAccount(account, before.identity)
    }
    const now = await identify(exchange)
    return now.by === before.by && hasSameRights(now.identity, before.identity)
  }
}

const hasPassword = (exchange: Exchange): boolean => /^basic /i.test(exchange.header('authorization') ?? '')

const isAccount = (identity: Identity): identity is Account => identity.name !== null && 'sessionsFrom' in identity

const isSameAccount = (now: Account, before: Account): boolean =>
  now.sessionsFrom.generation === before.sessionsFrom.generation && hasSameRights(now, before)

const hasSameRights = (now: Identity, before: Identity): boolean =>
  now.name === before.name &&
  now.isAdmin === before.isAdmin &&
  isDeepStrictEqual(now.roles, before.roles) &&
  isDeepStrictEqual(now.grants, before.grants)
