import { ERRORS, isClientError, Refusal } from '../base/errors.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { CredentialSource } from './handler.ts'
import type { KnownHeaders, Peers } from './known-headers.ts'
import type { CommonLimits, PasswordLimits } from './limits/together.ts'
import { type ExpectedPasskey, type FreshProof, PASSKEY_HANDLER, type Passkeys } from './passkey-sign-in.ts'
import type { Attempt, SignIn } from './sign-in.ts'

/** An attempt to sign in with a request. */
export interface DoorAttempt extends Omit<Attempt, 'peer' | 'directPeer' | 'waiting'> {
  readonly source: CredentialSource
  /** What a passkey signed: in place of a one-time code, or without a name in place of everything. */
  readonly passkey?: unknown
  /** For what it signed, if it is no sign-in. */
  readonly proof?: FreshProof
}

export type DoorSignIn = (attempt: DoorAttempt) => ReturnType<SignIn>

/** The body is read before the client is authenticated, so this is less than other bodies may have. */
export const MAX_SIGN_IN_BYTES = 16_384

/** Tells a client with the right password that a one-time code is missing. */
const SECOND_FACTOR = 'X-Cardea-Second-Factor'

interface RefusedRequest {
  readonly unauthorizedHeaders: readonly (readonly [name: string, value: string])[] | undefined
}

/** What a 401 of Cardea's own paths says in place of its text: the doors keep theirs, and have the header only. */
export const explainMissing = (request: RefusedRequest | undefined): { readonly reason: string } | undefined =>
  request?.unauthorizedHeaders?.some(([name]) => name === SECOND_FACTOR)
    ? { reason: ERRORS.code_required.text }
    : undefined

/**
 * Reads the addresses of an attempt from its request. Until an administrator has named the proxies, any local program may
 * claim any address: then the address of the connection counts too.
 */
export const createDoorSignIn =
  (signIn: SignIn, namesProxies: () => boolean, byPasskey: PasskeyFinder): DoorSignIn =>
  (attempt) => {
    const { source, passkey, proof, ...given } = attempt
    if (passkey !== undefined && given.name === '')
      return byPasskey(passkey, source, proof && { owner: proof.account, proof })
    const isPasskeyOf = async (owner: Account) => (await byPasskey(passkey, source, { owner })) !== undefined
    return signIn({
      ...given,
      ...(passkey !== undefined && { isPasskeyOf }),
      ...toPeers(source, namesProxies()),
      waiting: source,
      onCodeMissing() {
        source.addToUnauthorized(SECOND_FACTOR, 'required')
        attempt.onCodeMissing?.()
      },
    })
  }

/** The account whose passkey has signed; `undefined`: it is not accepted. */
type PasskeyFinder = (
  response: unknown,
  source: CredentialSource,
  expected?: ExpectedPasskey,
) => Promise<Account | undefined>

interface PasskeyDeps {
  readonly passkeys: Pick<Passkeys, 'requireAccount'>
  readonly limitArrivals: DoorArrivals
  readonly directory: Pick<Directory, 'noteSignIn'>
  readonly events: SecurityEvents
}

/** Failures are limited for the address and delay no password. */
export const createPasskeyFinder =
  ({ passkeys, limitArrivals, directory, events }: PasskeyDeps): PasskeyFinder =>
  async (response, source, expected) => {
    try {
      const arrive = () => passkeys.requireAccount(response, source, expected)
      const account = await limitArrivals(source, PASSKEY_HANDLER, arrive)
      // the second step is noted with the password
      if (!expected) directory.noteSignIn(account.name, source.client.address)
      return account
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'credential_refused') throw error
      events.record('sign-in.refused', { reason: `passkey: ${error.detail}`, handler: PASSKEY_HANDLER })
      return undefined
    }
  }

/** Creates a user for a client that signs up, within the limits. */
export type DoorSignUp = <T>(source: Pick<CredentialSource, 'client'>, create: () => Promise<T>) => Promise<T>

export const createDoorSignUp =
  ({ signUp }: Pick<CommonLimits, 'signUp'>, namesProxies: () => boolean): DoorSignUp =>
  (source, create) =>
    signUp(toPeers(source, namesProxies()), create)

export type DoorArrivals = ReturnType<typeof createDoorArrivals>

/**
 * For sign-ins without a password. Those that fail are limited like wrong passwords from the same address, but counted
 * by what vouches for them: if that is set up wrongly, its users can still sign in in another way.
 */
export const createDoorArrivals =
  ({ requireAllowed, countFailure }: PasswordLimits, namesProxies: () => boolean) =>
  async <T>(source: Pick<CredentialSource, 'client'>, voucher: string, arrive: () => Promise<T>): Promise<T> => {
    const guess = { ...toPeers(source, namesProxies()), name: '', voucher }
    requireAllowed(guess)
    try {
      return await arrive()
    } catch (error) {
      if (isClientError(error)) await countFailure(guess)
      throw error
    }
  }

export type DoorKnownHeaders = ReturnType<typeof createDoorKnownHeaders>

/** Headers with a password that was verified before, by the peers that the limits count. */
export const createDoorKnownHeaders = (knownHeaders: KnownHeaders, namesProxies: () => boolean) => ({
  find: (header: string, source: CredentialSource) => knownHeaders.find(header, toPeers(source, namesProxies())),
  remember: knownHeaders.remember,
})

const toPeers = ({ client }: Pick<CredentialSource, 'client'>, namesProxies: boolean): Peers => ({
  peer: client.address,
  directPeer: namesProxies ? undefined : client.directAddress,
})
