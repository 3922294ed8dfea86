// Imports records: collects them into batches, sends those to the directory, reports every rejected record.
import { toDraftJson } from '../../transfer/draft.ts'
import type { Reading } from '../../transfer/records.ts'
import { type Control, ControlFailure } from '../client.ts'
import { createAdministratorImport } from './administrators.ts'
import type { ImportRecord, ImportRules, Outcome, OutcomeKind, Totals } from './import-summary.ts'
import type { Report } from './report.ts'
import { createSettingImport } from './settings.ts'

export interface ImporterDeps {
  readonly control: Control
  readonly rules: ImportRules
  readonly report: Pick<Report<unknown>, 'add'>
}

type UserReading = Reading & { readonly kind: 'user' }
type ImportUser = ImportRecord & { readonly reading: UserReading }

/** A batch is small, so that other requests do not wait for long and memory does not grow. */
const MAX_COST = 100
const CHARACTERS_FOR_ONE = 2048
/** A plain-text password has to be hashed. */
const CLEAR_COST = 50

export class Importer {
  readonly #deps: ImporterDeps
  readonly #totals = { users: none(), administrators: none(), settings: none(), passed: 0 }
  readonly #importAdministrator: (name: string, text: string) => Promise<Outcome>
  readonly #importSetting: ReturnType<typeof createSettingImport>
  #batch: ImportUser[] = []
  #cost = 0

  constructor(deps: ImporterDeps) {
    this.#deps = deps
    this.#importAdministrator = createAdministratorImport(deps.control, deps.rules)
    this.#importSetting = createSettingImport(deps.control, deps.rules)
  }

  totals(): Totals {
    return this.#totals
  }

  async add(record: ImportRecord): Promise<void> {
    const { reading } = record
    if (reading.kind === 'user') return this.#addUser({ ...record, reading })
    if (reading.kind === 'administrator') {
      const outcome = await this.#importAdministrator(reading.id, reading.text)
      return this.#count(record, this.#totals.administrators, outcome)
    }
    if (reading.kind === 'setting')
      return this.#count(record, this.#totals.settings, await this.#importSetting(reading.setting))
    if (reading.kind === 'passed') this.#totals.passed += 1
    else this.#count(record, this.#totals[reading.heading ?? 'users'], reading)
  }

  /** Resolves when everything added so far is imported. */
  async flush(): Promise<void> {
    const { control, rules } = this.#deps
    const sent = this.#batch
    this.#batch = []
    this.#cost = 0
    const outcomes = await sendBatch(control, sent, rules)
    for (const [index, record] of sent.entries()) {
      const outcome = outcomes[index]
      if (outcome) this.#count(record, this.#totals.users, outcome)
    }
  }

  async #addUser(record: ImportUser): Promise<void> {
    for (const note of record.reading.notes) this.#report(record, 'note', note)
    this.#batch.push(record)
    this.#cost += costOf(record)
    if (this.#cost >= MAX_COST) await this.flush()
  }

  #count(record: ImportRecord, counts: Record<OutcomeKind, number>, outcome: Outcome): void {
    counts[outcome.kind] += 1
    if (outcome.kind === 'refused') this.#report(record, 'refused', outcome.reason)
  }

  #report({ line, reading: { id } }: ImportRecord, kind: 'refused' | 'note', reason: string): void {
    this.#deps.report.add({ kind, ...(line !== undefined && { line }), ...(id !== undefined && { id }), reason })
  }
}

const none = (): Record<OutcomeKind, number> => ({ created: 0, replaced: 0, kept: 0, refused: 0 })

function costOf({ size, reading: { draft } }: ImportUser): number {
  const isClear = draft.password !== undefined && 'password' in draft.password
  return 1 + Math.floor(size / CHARACTERS_FOR_ONE) + (isClear ? CLEAR_COST : 0)
}

/** Sends a batch, in halves if it is too large for the server. */
async function sendBatch(
  control: Control,
  batch: readonly ImportUser[],
  rules: ImportRules,
): Promise<readonly Outcome[]> {
  if (batch.length === 0) return []
  const users = batch.map(({ reading }) => toDraftJson(reading.draft))
  try {
    const body = { users, replace: rules.replaces, trial: rules.isTrial }
    return (await control.call('transfer.import', { body })).outcomes
  } catch (error) {
    if (!(error instanceof ControlFailure) || error.code !== 'body_too_large') throw error
    if (batch.length === 1) return [{ kind: 'refused', reason: error.message }]
    const middle = Math.ceil(batch.length / 2)
    const first = await sendBatch(control, batch.slice(0, middle), rules)
    return [...first, ...(await sendBatch(control, batch.slice(middle), rules))]
  }
}
