/** What browsers and authenticators return, verified by `@simplewebauthn/server`, which is loaded with the first of it. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { readBase64Url } from '../../base/encoding.ts'
import { messageOf, Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject, readJsonObject } from '../../base/json.ts'
import { PASSKEY_FORM, type Passkey } from '../../directory/users/user.ts'

/** EdDSA, ES256, RS256: what authenticators have. No other key is accepted. */
export const KEY_ALGORITHMS: readonly number[] = [-8, -7, -257]

/** What a response must match. */
export interface ExpectedResponse {
  readonly rpId: string
  readonly origins: readonly string[]
  /** Why a challenge is not accepted. */
  checkChallenge(challenge: string): string | undefined
}

/** The parts of a response that are read before it is verified. */
export interface ReadResponse {
  /** The id of the credential. */
  readonly id: string
  readonly challenge: string
  /** By which the authenticator knows the account; empty: it did not say. */
  readonly userHandle: string
}

/** Why a response is refused is for the log; a client learns only that it is. */
export const refusePasskey = (detail: string, cause?: unknown): Refusal =>
  new Refusal('credential_refused', { detail, cause })

/** Throws unless the response has the form that a browser gives it, from a page that is not inside one of another origin. */
export function readResponse(value: unknown): ReadResponse {
  const response = isJsonObject(value) ? findMember(value, 'response') : undefined
  const id = textOf(value, 'id')
  const clientData = readJsonObject(readBase64Url(textOf(response, 'clientDataJSON'))?.toString() ?? '')
  if (id === '' || !clientData) throw refusePasskey('the response is malformed')
  if (Buffer.byteLength(id, 'base64url') > PASSKEY_FORM.maxIdBytes)
    throw refusePasskey('the id of the credential is longer than the standard allows')
  if (clientData['crossOrigin'] === true || clientData['topOrigin'] !== undefined)
    throw refusePasskey('the page was inside one of another origin')
  return { id, challenge: textOf(clientData, 'challenge'), userHandle: textOf(response, 'userHandle') }
}

function textOf(value: unknown, member: string): string {
  const text = isJsonObject(value) ? findMember(value, member) : undefined
  return typeof text === 'string' ? text : ''
}

const load = () => import('@simplewebauthn/server')

/** The new passkey. Throws a `Refusal`. */
export async function verifyNew(
  value: unknown,
  expected: ExpectedResponse,
): Promise<Omit<Passkey, 'label' | 'createdAt'>> {
  readResponse(value)
  await requirePlainAttestation(value)
  const { verifyRegistrationResponse } = await load()
  const { registrationInfo } = await attemptVerification(() =>
    // the library checks the rest of the form
    verifyRegistrationResponse({
      response: value as RegistrationResponseJSON,
      ...toLibrary(expected),
      requireUserVerification: true,
      supportedAlgorithmIDs: [...KEY_ALGORITHMS],
    }),
  )
  if (!registrationInfo) throw refusePasskey('the attestation is not valid')
  const { credential, credentialDeviceType } = registrationInfo
  if (credential.publicKey.length > PASSKEY_FORM.maxKeyBytes)
    throw refusePasskey('the key is longer than any that is accepted')
  return {
    id: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    rpId: expected.rpId,
    transports: PASSKEY_FORM.transports.filter((each) => isListed(credential.transports, each)),
    isSynced: credentialDeviceType === 'multiDevice',
  }
}

/** The library passes on what the client sent. */
const isListed = (list: unknown, item: string): boolean => Array.isArray(list) && list.includes(item)

/**
 * For other forms the library follows addresses in certificates of the client: a request to any server, without a limit.
 * None is asked for, and without roots it fetches nothing for `packed`.
 */
const PLAIN_FORMATS: readonly string[] = ['none', 'packed']

async function requirePlainAttestation(value: unknown): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const response = isJsonObject(value) ? findMember(value, 'response') : undefined
  const bytes = new Uint8Array(Buffer.from(textOf(response, 'attestationObject'), 'base64url'))
  const format = await attemptVerification(async () => decodeAttestationObject(bytes).get('fmt'))
  if (!PLAIN_FORMATS.includes(format)) throw refusePasskey('the attestation has a form that is not accepted')
}

/** The counter of the authenticator. Throws a `Refusal` unless the passkey has signed the response. */
export async function verifySigned(value: unknown, passkey: Passkey, expected: ExpectedResponse): Promise<number> {
  const { verifyAuthenticationResponse } = await load()
  const { verified, authenticationInfo } = await attemptVerification(() =>
    // the library checks the rest of the form
    verifyAuthenticationResponse({
      response: value as AuthenticationResponseJSON,
      ...toLibrary(expected),
      requireUserVerification: true,
      credential: {
        id: passkey.id,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        // a counter that goes back is no reason to refuse: the library must not compare it
        counter: 0,
      },
    }),
  )
  if (!verified) throw refusePasskey('the signature is wrong')
  return authenticationInfo.newCounter
}

const toLibrary = ({ rpId, origins, checkChallenge }: ExpectedResponse) => ({
  expectedRPID: rpId,
  expectedOrigin: [...origins],
  expectedChallenge(challenge: string) {
    const problem = checkChallenge(challenge)
    if (problem !== undefined) throw new Error(problem)
    return true
  },
})

/** The library throws an `Error` for whatever it does not accept. */
async function attemptVerification<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    throw refusePasskey(messageOf(error), error)
  }
}
