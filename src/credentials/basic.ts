import { readUtf8 } from '../base/encoding.ts'
import { Refusal } from '../base/errors.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Identity } from '../identity/identity.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  type Verdict,
} from './handler.ts'

/** Who it is, with what else is to be known where it was no password after all; `undefined`: nobody. */
export type CheckedPassword = Identity | AcceptedCredential | undefined

/** Finds out whose name and password these are. */
export type PasswordCheck = (name: string, password: string, source: CredentialSource) => MaybePromise<CheckedPassword>

/** How a dialect recognises and takes apart a Basic header. */
export interface BasicForm {
  readonly name: string
  /** The encoded part, or `undefined` where the header is not this form. */
  findCredential(header: string): string | undefined
  /** Its bytes, or `undefined` where it cannot be decoded. */
  decode(encoded: string): Uint8Array | undefined
  /** A pair that means "nobody". */
  readonly isNobody: (name: string, password: string) => boolean
}

/** A deliberate credential: one that has the form is accepted or refused, never passed on. */
export function createBasicHandler(form: BasicForm, check: PasswordCheck): CredentialHandler {
  return {
    name: form.name,
    read(source) {
      const encoded = form.findCredential(source.header('authorization') ?? '')
      if (encoded === undefined) return ABSENT
      const bytes = form.decode(encoded)
      if (bytes === undefined) return refused('credential_malformed')
      const text = readUtf8(bytes)
      if (text === undefined) return refused('credential_refused')
      const colon = text.indexOf(':')
      if (colon < 0) return ABSENT
      const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
      if (form.isNobody(name, password)) return ABSENT
      return andThen(check(name, password, source), toVerdict)
    },
  }
}

function toVerdict(checked: CheckedPassword): Verdict {
  if (checked === undefined) return refused('credential_refused')
  return 'kind' in checked ? checked : { kind: 'accepted', identity: checked }
}

const refused = (code: 'credential_malformed' | 'credential_refused'): Verdict => ({
  kind: 'refused',
  error: new Refusal(code, { about: 'Authorization header has invalid base64 value' }),
})
