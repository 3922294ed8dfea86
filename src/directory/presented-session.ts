/** The session a request came with. */
export interface PresentedSession {
  readonly id: string
  readonly name: string
  /** Seconds since the epoch; no copy made so far is accepted from then on. */
  readonly expiresAt: number
  /** What carries it on for its full time; `undefined` while that is not due. */
  renew?(): RenewedSession | undefined
}

export interface RenewedSession {
  readonly value: string
  readonly maxAgeSeconds: number
}

/** The token of somebody else's making an identity rests on: by itself, or through a session opened with it. */
export interface TokenOrigin {
  /** Its `iat` and `exp`, in seconds. */
  readonly issuedAt: number | undefined
  readonly expiresAt: number | undefined
  /** The key that verified it. Once that key is gone, so is all that rests on it. */
  readonly algorithm: string
  readonly kid: string | undefined
  readonly keyVersion: string
}
