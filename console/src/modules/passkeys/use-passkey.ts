// Passkeys in a browser, with its own functions for JSON.

interface Asked {
  readonly options: object
}

/** No browser uses passkeys at an address, or without TLS; an old one lacks the functions. */
export const canUsePasskeys = (): boolean =>
  isSecureContext &&
  !/^(?:[\d.]+|\[.*\])$/.test(location.hostname) &&
  typeof PublicKeyCredential !== 'undefined' &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential

/** What the authenticator returned, as JSON. */
const toJson = (credential: Credential | null): object => (credential as PublicKeyCredential).toJSON()

export async function createPasskey({ options }: Asked): Promise<object> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return toJson(await navigator.credentials.create({ publicKey }))
}

export async function usePasskey({ options }: Asked, more: CredentialRequestOptions = {}): Promise<object> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
  return toJson(await navigator.credentials.get({ publicKey, ...more }))
}

/** Shorter than a challenge lives. */
const RENEWED_MS = 240_000

/** Offers passkeys in the list of the name field, where the browser can, until the signal. */
export async function offerPasskeys(
  ask: () => Promise<Asked>,
  signIn: (passkey: object) => Promise<void>,
  end: AbortSignal,
) {
  if (!canUsePasskeys() || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  while (!end.aborted) {
    const signal = AbortSignal.any([end, AbortSignal.timeout(RENEWED_MS)])
    try {
      return await signIn(await usePasskey(await ask(), { mediation: 'conditional', signal }))
    } catch (error) {
      // with a new challenge, if the last one is about to expire
      if (!(error instanceof DOMException && error.name === 'TimeoutError')) return
    }
  }
}

/** The user has cancelled, or the browser knows no passkey for this page: it does not say which. */
export const isCancelled = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'NotAllowedError'
