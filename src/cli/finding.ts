export interface Finding {
  readonly level: 'ok' | 'warning' | 'problem'
  readonly area: string
  readonly message: string
  /** What to do about it. */
  readonly advice?: string
}

/** What the check of one area found; empty: nothing is wrong. */
export type Found = readonly Omit<Finding, 'area'>[]
