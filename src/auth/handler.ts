import type { Refusal } from '../base/errors.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Authenticated } from '../directory/identity.ts'

/** Where a credential is read from. The door's exchange happens to satisfy it. */
export interface CredentialSource {
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal
  readonly client: { readonly address: string; readonly directAddress: string; readonly isTrusted: boolean }
  header(name: string): string | undefined
  /** Whether a header stands more than once. */
  isRepeated(name: string): boolean
  cookie(name: string): string | undefined
}

export type Verdict =
  | { readonly kind: 'absent'; readonly note?: string } // nothing here for me: ask the next; `note`: what was ignored
  | AcceptedCredential
  | RefusedCredential // present but wrong: stop

export interface RefusedCredential {
  readonly kind: 'refused'
  readonly error: Refusal
  /** The check of the password has recorded it, with a reason that is not known here. */
  readonly isRecorded?: true
}

/** Who it is, and what else is to be known of the credential. */
export interface AcceptedCredential extends Omit<Authenticated, 'by'> {
  readonly kind: 'accepted'
}

export interface CredentialHandler {
  readonly name: string
  /** Never writes to the response. */
  read(source: CredentialSource): MaybePromise<Verdict>
}

export const ABSENT: Verdict = Object.freeze({ kind: 'absent' })
