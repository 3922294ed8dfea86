export interface CodeStore {
  /**
   * Marks the one-time codes of this time step and of every earlier one as used. `false`: the user has used this step or
   * a later one already, on any node; nothing was changed.
   */
  useCodeStep(name: string, step: number): Promise<boolean>
}

/** The second factor of an account: recovery codes of an earlier one are not valid for the next. */
export interface FactorKey {
  readonly name: string
  /** Another one for every second factor of the name. */
  readonly version: string
}

export interface RecoveryCodeStore {
  /** Replaces all codes of the name. */
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
