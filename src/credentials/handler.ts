import type { Refusal } from '../base/errors.ts'
import type { Identity } from '../identity/identity.ts'

/** Where a credential is read from. The door's exchange happens to satisfy it. */
export interface CredentialSource {
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal
  readonly client: { readonly address: string }
  header(name: string): string | undefined
  cookie(name: string): string | undefined
}

export type Verdict =
  | { readonly kind: 'absent'; readonly note?: string } // nothing here for me: ask the next
  | { readonly kind: 'accepted'; readonly identity: Identity }
  | { readonly kind: 'refused'; readonly error: Refusal } // present but wrong: stop

export interface CredentialHandler {
  readonly name: string
  /** Never writes to the response. */
  read(source: CredentialSource): Promise<Verdict>
}

export const ABSENT: Verdict = Object.freeze({ kind: 'absent' })
