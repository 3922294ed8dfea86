/**
 * Passkeys: an authenticator signs a challenge of this server, for a page of an origin that this server accepts. A module
 * brings them; without it there are none.
 */
import { Refusal } from '../base/errors.ts'
import type { Account } from '../directory/account.ts'
import type { Caller } from '../directory/caller.ts'
import type { SourceClient } from './handler.ts'

/** A request of the page. */
export interface PasskeyRequest {
  readonly client: Pick<SourceClient, 'scheme' | 'localPort' | 'isTrusted'>
}

export interface AddingRequest extends PasskeyRequest {
  readonly sessionId: string | undefined
}

/** What `navigator.credentials` reads, as JSON. */
export type PasskeyOptions = Readonly<Record<string, unknown>>

/** What a passkey signs in place of the current password: one request of one session. */
export interface PasskeyProof {
  readonly account: Account
  readonly sessionId: string
  /** Its method and path, as `DELETE /account/totp`. */
  readonly target: string
}

export interface Passkeys {
  /** For a page that signs a user in, whose name it need not know. */
  createSignInOptions(): PasskeyOptions
  /** The account whose passkey has signed these options, with the user verified. Throws `credential_refused`. */
  requireAccount(response: unknown, request: PasskeyRequest, expected?: ExpectedPasskey): Promise<Account>
  createProofOptions(proof: PasskeyProof): PasskeyOptions
  /** `sessionId`: that of the request; the passkey must be added in it. */
  createAddOptions(account: Account, sessionId: string | undefined): PasskeyOptions
  /** Returns recovery codes if it is the first second factor of an account that needs one. */
  add(
    account: Account,
    caller: Caller,
    given: NewPasskey,
    request: AddingRequest,
  ): Promise<readonly string[] | undefined>
}

export interface ExpectedPasskey {
  /** Left out: the passkey of any account signs in. */
  readonly owner?: Account
  /** It must have signed the options for this request of the owner. Left out: those of a sign-in. */
  readonly proof?: FreshProof | undefined
}

export interface FreshProof extends PasskeyProof {
  /** 0: as long as a challenge is valid. */
  readonly maxAgeSeconds: number
}

export interface NewPasskey {
  readonly label: string
  readonly response: unknown
}

/** What security events call a sign-in without a password. */
export const PASSKEY_HANDLER = 'passkey'

const refuse = (): never => {
  throw new Refusal('not_found', { reason: 'This build has no passkeys.' })
}

export const NO_PASSKEYS: Passkeys = {
  createSignInOptions: refuse,
  requireAccount: async () => refuse(),
  createProofOptions: refuse,
  createAddOptions: refuse,
  add: async () => refuse(),
}
