import { digestHex, frame } from '../../base/encoding.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import type { Failure } from '../../directory/store-port/sign-ins.ts'

/** An account whose limits are shown or lifted. */
export type LimitedAccount = Pick<Guess, 'name' | 'salt'>

/** One attempt to sign in as a name, by password, one-time code or access token. */
export interface Guess {
  /** Empty: no account is named, and only the addresses count. */
  readonly name: string
  /** Address of the client. */
  readonly peer: string
  /** Address of the connection, where `peer` comes from a header of a proxy that is not configured as trusted. */
  readonly directPeer?: string | undefined
  /** Whatever vouches for the account instead of a password. Its failures count apart from all others. */
  readonly voucher?: string | undefined
  /** Salt and version of the stored password, if the name has one. A new password starts without failures. */
  readonly salt?: string | undefined
  readonly version?: string | undefined
}

/** Every counter that a failed attempt adds to. */
export function toKeys(guess: Guess): readonly Omit<Failure, 'count'>[] {
  const ofPeers = findPeers(guess).map((key) => ({ counter: 'peer', key }) as const)
  if (guess.name === '') return ofPeers
  return [
    { counter: 'lock', key: toLockKey(guess), ...(guess.version !== undefined && { name: guess.name }) },
    { counter: 'account', key: toAccountKey(guess) },
    ...ofPeers,
  ]
}

// digests, so that long names fill neither the memory nor the store
export const toLockKey = (guess: Guess): string => `${toLockPrefix(guess)}${toPeerKey(guess.peer) ?? ''}`

/** The beginning of the lock keys of an account, for every peer. */
export const toLockPrefix = ({ name, salt = '' }: LimitedAccount): string =>
  `${digestHex('sha256', frame([name, salt]))} `

export const toAccountKey = ({ name }: Pick<Guess, 'name'>): string => digestHex('sha256', name)

export function findPeers({
  peer,
  directPeer,
  voucher,
}: Pick<Guess, 'peer' | 'directPeer' | 'voucher'>): readonly string[] {
  const keys = [toPeerKey(peer), directPeer === undefined ? undefined : toPeerKey(directPeer)]
  const prefix = voucher === undefined ? '' : `${voucher} `
  return [...new Set(keys.filter((key) => key !== undefined))].map((key) => `${prefix}${key}`)
}

/** Client and connection as one text. */
export const joinPeers = ({ peer, directPeer }: Guess): string =>
  directPeer === undefined || directPeer === peer ? peer : `${peer} ${directPeer}`
