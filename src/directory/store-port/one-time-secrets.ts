/** One use of a one-time code. */
export interface CodeUse {
  readonly factor: FactorKey
  /** The time step of the code. */
  readonly step: number
  /** Earlier steps of all accounts are forgotten: their codes have expired long ago. */
  readonly purgeBefore: number
}

export interface CodeStore {
  /**
   * Marks the code of this step as used. `false`: it was used already, on any node. Each step is kept by itself: one that
   * was used while a clock was ahead must not block the right ones.
   */
  useCodeStep(use: CodeUse): Promise<boolean>
}

/** The second factor of an account: codes of an earlier one say nothing about the next. */
export interface FactorKey {
  readonly name: string
  /** Another one for every second factor of the name. */
  readonly version: string
}

export interface RecoveryCodeStore {
  /** Replaces all codes of the name, and forgets which one-time codes of its other second factors were used. */
  putRecoveryCodes(factor: FactorKey, digests: readonly string[]): Promise<void>
  /** Deletes the code. `false`: there is none; of several uses at the same time, on any node, one succeeds. */
  useRecoveryCode(factor: FactorKey, digest: string): Promise<boolean>
  countRecoveryCodes(factor: FactorKey): Promise<number>
}

/** A link with which a user sets a password. */
export interface PasswordLink {
  readonly name: string
  /** Of the secret in the link. */
  readonly digest: string
  /** Digest of the password, the rights and the state of the user: the link is valid only while they stay the same. */
  readonly version: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Every write of a user ends its link. */
export interface PasswordLinkStore {
  /** Replaces an earlier link of the user, and deletes those that have expired. */
  putPasswordLink(link: PasswordLink, nowSeconds: number): Promise<void>
  findPasswordLink(digest: string): Promise<PasswordLink | undefined>
  removePasswordLink(digest: string): Promise<void>
}
