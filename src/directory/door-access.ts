/** What an account may do at a door, and why: explained by the rules that the door itself applies. */
export interface DoorAccess {
  readonly door: string
  readonly rules: readonly AccessRule[]
}

export interface AccessRule {
  /** A verb and its object. */
  readonly what: string
  /** `null`: the database behind the door decides. */
  readonly isAllowed: boolean | null
  readonly because: string
}
