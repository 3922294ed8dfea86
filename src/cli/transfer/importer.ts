// Imports records: collects them into batches, sends those to the directory, reports every rejected record.
import { toDraftJson } from '../../transfer/draft.ts'
import type { Reading } from '../../transfer/records.ts'
import { type Control, ControlFailure } from '../client.ts'
import { createAdministratorImport } from './administrators.ts'
import type { ImportRecord, ImportRules, Outcome, OutcomeKind, Totals } from './import-summary.ts'
import type { Report } from './report.ts'

export interface ImporterDeps {
  readonly control: Control
  readonly rules: ImportRules
  readonly report: Pick<Report<unknown>, 'tell'>
}

export interface Importer {
  take(record: ImportRecord): Promise<void>
  /** Resolves when everything taken so far is imported. */
  flush(): Promise<void>
  totals(): Totals
}

type UserReading = Reading & { readonly kind: 'user' }
type ImportUser = ImportRecord & { readonly reading: UserReading }

/** A batch is small, so that other requests do not wait for long and memory does not grow. */
const MAX_COST = 100
const CHARACTERS_FOR_ONE = 2048
/** A password in clear has to be hashed. */
const CLEAR_COST = 50

export function createImporter({ control, rules, report }: ImporterDeps): Importer {
  const totals = { users: none(), administrators: none(), passed: 0, unreadable: 0 }
  const importAdministrator = createAdministratorImport(control, rules)
  let batch: ImportUser[] = []
  let cost = 0

  const tell = ({ line, reading }: ImportRecord, kind: 'refused' | 'note', reason: string) =>
    report.tell({
      kind,
      ...(line === undefined ? {} : { line }),
      ...(reading.id === undefined ? {} : { id: reading.id }),
      reason,
    })
  const settle = (record: ImportRecord, counts: Record<OutcomeKind, number>, outcome: Outcome) => {
    counts[outcome.kind] += 1
    if (outcome.kind === 'refused') tell(record, 'refused', outcome.reason)
  }
  const flush = async () => {
    const sent = batch
    batch = []
    cost = 0
    const outcomes = await sendBatch(control, sent, rules)
    for (const [index, outcome] of outcomes.entries()) {
      const record = sent[index]
      if (record) settle(record, totals.users, outcome)
    }
  }
  const takeUser = async (record: ImportUser) => {
    for (const note of record.reading.notes) tell(record, 'note', note)
    batch.push(record)
    cost += costOf(record)
    if (cost >= MAX_COST) await flush()
  }
  return {
    flush,
    totals: () => totals,
    async take(record) {
      const { reading } = record
      if (reading.kind === 'user') await takeUser({ ...record, reading })
      else if (reading.kind === 'administrator') {
        settle(record, totals.administrators, await importAdministrator(reading.id, reading.text))
      } else if (reading.kind === 'passed') totals.passed += 1
      else {
        totals.unreadable += 1
        tell(record, 'refused', reading.reason)
      }
    },
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
