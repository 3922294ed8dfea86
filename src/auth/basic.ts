import { readUtf8 } from '../base/encoding.ts'
import { Refusal } from '../base/errors.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Identity } from '../directory/identity.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  type RefusedCredential,
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

export interface BasicPair {
  readonly name: string
  readonly password: string
}

/** The name and password of a header; why there are none; `undefined` where it is no Basic credential of this form. */
export function readBasic(
  header: string,
  form: BasicForm,
): BasicPair | 'credential_malformed' | 'credential_refused' | undefined {
  const encoded = form.findCredential(header)
  if (encoded === undefined) return undefined
  const bytes = form.decode(encoded)
  if (bytes === undefined) return 'credential_malformed'
  const text = readUtf8(bytes)
  if (text === undefined) return 'credential_refused'
  const colon = text.indexOf(':')
  if (colon < 0) return undefined
  const [name, password] = [text.slice(0, colon), text.slice(colon + 1)]
  return form.isNobody(name, password) ? undefined : { name, password }
}

/** A deliberate credential: one that has the form is accepted or refused, never passed on. */
export function createBasicHandler(form: BasicForm, check: PasswordCheck): CredentialHandler {
  return {
    name: form.name,
    read(source) {
      const given = readBasic(source.header('authorization') ?? '', form)
      if (given === undefined) return ABSENT
      if (typeof given === 'string') return refused(given)
      return andThen(check(given.name, given.password, source), toVerdict)
    },
  }
}

function toVerdict(checked: CheckedPassword): Verdict {
  if (checked === undefined) return { ...refused('credential_refused'), isRecorded: true }
  return 'kind' in checked ? checked : { kind: 'accepted', identity: checked, hasPassword: true }
}

const refused = (code: 'credential_malformed' | 'credential_refused'): RefusedCredential => ({
  kind: 'refused',
  error: new Refusal(code, { about: 'Authorization header has invalid base64 value' }),
})
