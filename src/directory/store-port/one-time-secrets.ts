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
