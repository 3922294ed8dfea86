/** The limits on password checks of one account. */
export interface LimitEditor {
  /** `undefined`: no client is locked out. */
  find(account: LimitedAccount): Promise<AccountLimit | undefined>
  /** How many names are locked for at least one client, as far as this node knows. Includes names without an account. */
  countLocked(): number
  /** Names of accounts that are locked for at least one client, as far as this node knows. */
  listNames(): readonly string[]
  /** Forgets the failures of the account on every node. */
  lift(account: LimitedAccount): Promise<void>
}

export interface LimitedAccount {
  readonly name: string
  /** Of the stored password: a new password starts without failures. */
  readonly salt: string
}

export interface AccountLimit {
  /** How many client addresses are locked out. 0: clients of every address have to wait. */
  readonly lockedPeers: number
  /** Some of them. */
  readonly peers: readonly string[]
  readonly untilMs: number
}
