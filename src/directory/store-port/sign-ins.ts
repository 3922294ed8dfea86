/** The last sign-in of an account with its password. */
export interface LastSignIn {
  readonly name: string
  /** Seconds since the epoch. */
  readonly at: number
  /** Address of the client. Empty on a Unix socket. */
  readonly peer: string
}

export interface SignInStore {
  /** An earlier sign-in never replaces a later one. This is not a change in the feed. */
  putSignIns(signIns: readonly LastSignIn[]): Promise<void>
  /** The last sign-ins of those names that have one. A deleted user has none. */
  listSignIns(names: readonly string[]): Promise<readonly LastSignIn[]>
}

/** The failed password checks of one counter and key. */
export interface Failure {
  readonly counter: 'lock' | 'account' | 'peer' | 'sign-up' | 'all-sign-ups'
  /** For `count` 0, the beginning of the keys. */
  readonly key: string
  /** 0: an administrator has lifted the limit; earlier failures no longer count. */
  readonly count: number
  /** With a lock of an existing account: its name, for lists of locked accounts. */
  readonly name?: string
}

/** The failed password checks that a node counted since its last batch. */
export interface FailureBatch {
  /** Identifies the node; new with every start. */
  readonly node: string
  readonly atMs: number
  /** Seconds since the epoch; from then on the batch has no effect. */
  readonly expiresAt: number
  readonly failures: readonly Failure[]
}

export interface StoredFailures extends FailureBatch {
  /** It is independent of the sequence of changes. */
  readonly sequence: number
}

export interface FailureStore {
  addFailures(batch: FailureBatch): Promise<void>
  /** One page of the batches after this sequence, in order. 0 for the first page. */
  listFailures(after: number, limit: number): Promise<readonly StoredFailures[]>
  /** Deletes expired batches. Returns how many. */
  purgeFailures(nowSeconds: number): Promise<number>
}

/** The last use of an access token. */
export interface TokenUse {
  readonly name: string
  /** Unique among all tokens. */
  readonly mark: string
  /** Seconds since the epoch. */
  readonly usedAt: number
}

export interface TokenUseStore {
  /** The later time of a token counts. This is not a change in the feed. */
  putTokenUses(uses: readonly TokenUse[]): Promise<void>
  listTokenUses(name: string): Promise<readonly TokenUse[]>
  /** Deletes uses up to this time. Returns how many. */
  purgeTokenUses(usedUntil: number): Promise<number>
}
