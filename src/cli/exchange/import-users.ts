// The work of an import: records in, batches out to whoever has the directory, and every refusal told.
import { type Found, type Reading, toDraftJson } from '../../app/exchange.ts'
import { type Control, ControlFailure } from '../client.ts'
import { createAdministratorImport } from './administrators.ts'
import type { Counts, ImportReport, OutcomeKind } from './import-report.ts'
import type { Progress } from './progress.ts'
import type { Source } from './source.ts'

export interface ImportRules {
  readonly replaces: boolean
  readonly isTrial: boolean
}

export interface ImportNeeds {
  readonly control: Control
  readonly rules: ImportRules
  readonly report: ImportReport
  readonly progress: Progress
  /** Aborted: what has begun is finished, and nothing more begins. */
  readonly signal: AbortSignal
}

export interface Totals {
  readonly users: Counts
  readonly administrators: Counts
  readonly passed: number
  readonly unreadable: number
}

type UserRecord = Found & { readonly reading: Reading & { readonly kind: 'user' } }

/** So many at once keep nobody waiting long, whatever is in them. */
const MOST_RECORDS = 500
const MOST_CHARACTERS = 1024 * 1024
/** A password in clear costs as much as some hundred stored ones. */
const CLEAR_COSTS = 50
