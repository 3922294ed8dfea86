import { isClientError } from '../base/errors.ts'
import type { CredentialSource } from './handler.ts'
import type { KnownHeaders, Peers } from './known-headers.ts'
import type { PasswordLimits } from './limits/limits.ts'
import type { SignUpLimits } from './limits/sign-ups.ts'
import type { Attempt, SignIn } from './sign-in.ts'

/** An attempt to sign in with a request. */
export interface DoorAttempt extends Omit<Attempt, 'peer' | 'directPeer' | 'waiting'> {
  readonly source: CredentialSource
}

export type DoorSignIn = (attempt: DoorAttempt) => ReturnType<SignIn>

/** The body is read before the client is authenticated, so this is less than other bodies may have. */
export const MAX_SIGN_IN_BYTES = 16_384

/** Tells a client with the right password that a one-time code is missing. */
const SECOND_FACTOR = 'X-Cardea-Second-Factor'

/**
 * Reads the addresses of an attempt from its request. Until an administrator has named the proxies, any local program may
 * claim any address: then the address of the connection counts too.
 */
export const createDoorSignIn =
  (signIn: SignIn, namesProxies: () => boolean): DoorSignIn =>
  (attempt) => {
    const { source } = attempt
    return signIn({
      ...attempt,
      ...toPeers(source, namesProxies()),
      waiting: source,
      onCodeMissing() {
        source.addToUnauthorized(SECOND_FACTOR, 'required')
        attempt.onCodeMissing?.()
      },
    })
  }

/** Creates a user for a client that signs up, within the limits. */
export type DoorSignUp = <T>(source: Pick<CredentialSource, 'client'>, create: () => Promise<T>) => Promise<T>

export const createDoorSignUp =
  ({ signUp }: SignUpLimits, namesProxies: () => boolean): DoorSignUp =>
  (source, create) =>
    signUp(toPeers(source, namesProxies()), create)

export type DoorArrivals = ReturnType<typeof createDoorArrivals>

/**
 * For sign-ins at a provider. Those that fail are limited like wrong passwords from the same address, but counted by
 * provider: if one is set up wrongly, its users can still sign in with a password or at another provider.
 */
export const createDoorArrivals =
  ({ requireAllowed, countFailure }: PasswordLimits, namesProxies: () => boolean) =>
  async <T>(source: Pick<CredentialSource, 'client'>, provider: string, arrive: () => Promise<T>): Promise<T> => {
    const guess = { ...toPeers(source, namesProxies()), name: '', provider }
    requireAllowed(guess)
    try {
      return await arrive()
    } catch (error) {
      if (isClientError(error)) countFailure(guess)
      throw error
    }
  }

export type DoorKnownHeaders = ReturnType<typeof createDoorKnownHeaders>

/** The same for headers with a password that was verified before. */
export const createDoorKnownHeaders = (knownHeaders: KnownHeaders, namesProxies: () => boolean) => ({
  find: (header: string, source: CredentialSource) => knownHeaders.find(header, toPeers(source, namesProxies())),
  remember: knownHeaders.remember,
})

const toPeers = ({ client }: Pick<CredentialSource, 'client'>, namesProxies: boolean): Peers => ({
  peer: client.address,
  directPeer: namesProxies ? undefined : client.directAddress,
})
