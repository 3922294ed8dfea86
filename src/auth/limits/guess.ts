import { frame } from '../../base/encoding.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import type { Failure } from '../../directory/store-port.ts'
import { digestHex } from '../../passwords/password-digest.ts'

/** A name and the secret given for it: a password, a one-time code or an access token. */
export interface Guess {
  readonly name: string
  /** Address of the client. */
  readonly peer: string
  /** Address of the connection, where the client's is only the claim of a peer that was never named as a proxy. */
  readonly directPeer?: string | undefined
  /** The salt and version of the stored password, where the name has one. A new password starts with no failures. */
  readonly salt?: string | undefined
  readonly version?: string | undefined
}

/** Everything a failed guess counts for. */
export function toKeys(guess: Guess): readonly Omit<Failure, 'count'>[] {
  return [
    { counter: 'lock', key: toLockKey(guess) },
    { counter: 'account', key: toAccountKey(guess) },
    ...findPeers(guess).map((key) => ({ counter: 'peer', key }) as const),
  ]
}

// digests, so that names as long as a request allows fill neither the memory nor the store
export const toLockKey = ({ peer, name, salt = '' }: Guess): string =>
  digestHex('sha256', frame([toPeerKey(peer) ?? '', name, salt]))

export const toAccountKey = ({ name }: Guess): string => digestHex('sha256', name)

export function findPeers({ peer, directPeer }: Guess): readonly string[] {
  const keys = [toPeerKey(peer), directPeer === undefined ? undefined : toPeerKey(directPeer)]
  return [...new Set(keys.filter((key) => key !== undefined))]
}

/** Client and connection as one text: who proved a password, did so from both. */
export const joinPeers = ({ peer, directPeer }: Guess): string =>
  directPeer === undefined || directPeer === peer ? peer : `${peer} ${directPeer}`
