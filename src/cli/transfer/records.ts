import type { OperationResult } from '../../dialects/admin-api/operations.ts'
import type { Found } from '../../transfer/dump.ts'

/** One record of an import, and where it stands if that can be said. */
export type Placed = Omit<Found, 'line'> & { readonly line?: number }

export interface ImportRules {
  /** Whether what is imported takes the place of what has its name. */
  readonly replaces: boolean
  readonly isTrial: boolean
}

export type Outcome = OperationResult<'exchange.import'>['outcomes'][number]
