// Imports records: collects users into batches, sends those to the directory, counts and reports what became of each.
import type { OperationResult } from '../../dialects/admin-api/operations.ts'
import { isStoredAdministrator } from '../../transfer/document.ts'
import { toDraftJson } from '../../transfer/draft.ts'
import type { Found } from '../../transfer/dump.ts'
import type { Heading, RecordReading } from '../../transfer/records.ts'
import { type Control, ControlFailure } from '../client.ts'
import type { Report } from './report.ts'

export interface ImportRules {
  /** Whether an imported record replaces the existing one of that name. */
  readonly replaces: boolean
  readonly isTrial: boolean
}

type ImportOutcomeView = OperationResult<'transfer.import'>['outcomes'][number]

export type ImportCounts = Record<ImportOutcomeView['kind'], number>

const none = (): ImportCounts => ({ created: 0, replaced: 0, kept: 0, refused: 0 })

type UserReading = RecordReading & { readonly kind: 'user' }
type ImportUser = Found & { readonly reading: UserReading }

/** A batch is small, so that other requests do not wait for long and memory does not grow. */
const MAX_COST = 100
const CHARACTERS_FOR_ONE = 2048
/** A plain-text password has to be hashed. */
const CLEAR_COST = 50

export class Importer {
  /** `passed`: records that are neither users nor errors. */
  readonly totals: Readonly<Record<Heading, ImportCounts>> & { passed: number } = {
    users: none(),
    administrators: none(),
    settings: none(),
    passed: 0,
  }
  readonly #control: Control
  readonly #rules: ImportRules
  readonly #report: Pick<Report<unknown>, 'add'>
  #administrators: Existing | undefined
  #settings: Existing | undefined
  #batch: ImportUser[] = []
  #cost = 0

  constructor(control: Control, rules: ImportRules, report: Pick<Report<unknown>, 'add'>) {
    this.#control = control
    this.#rules = rules
    this.#report = report
  }

  async add(record: Found): Promise<void> {
    const { reading } = record
    if (reading.kind === 'user') await this.#addUser({ ...record, reading })
    else if (reading.kind === 'administrator')
      this.#count(record, 'administrators', await this.#importAdministrator(reading))
    else if (reading.kind === 'setting') this.#count(record, 'settings', await this.#importSetting(reading))
    else if (reading.kind === 'refused') this.#count(record, reading.heading ?? 'users', reading)
    else this.totals.passed += 1
  }

  /** Resolves when everything added so far is imported. */
  async flush(): Promise<void> {
    const sent = this.#batch
    this.#batch = []
    this.#cost = 0
    for (const [index, outcome] of (await this.#send(sent)).entries()) {
      const record = sent[index]
      if (record) this.#count(record, 'users', outcome)
    }
  }

  async #addUser(record: ImportUser): Promise<void> {
    const { size, reading } = record
    const { password } = reading.draft
    for (const note of reading.notes) this.#add(record, 'note', note)
    this.#batch.push(record)
    this.#cost += 1 + Math.floor(size / CHARACTERS_FOR_ONE) + (password && 'password' in password ? CLEAR_COST : 0)
    if (this.#cost >= MAX_COST) await this.flush()
  }

  /** Sends a batch, in halves if it is too large for the server. */
  async #send(batch: readonly ImportUser[]): Promise<readonly ImportOutcomeView[]> {
    if (batch.length === 0) return []
    const users = batch.map(({ reading }) => toDraftJson(reading.draft))
    try {
      const body = { users, replace: this.#rules.replaces, trial: this.#rules.isTrial }
      return (await this.#control.call('transfer.import', { body })).outcomes
    } catch (error) {
      if (!(error instanceof ControlFailure) || error.code !== 'body_too_large') throw error
      if (batch.length === 1) return [{ kind: 'refused', reason: error.message }]
      const middle = Math.ceil(batch.length / 2)
      return [...(await this.#send(batch.slice(0, middle))), ...(await this.#send(batch.slice(middle)))]
    }
  }

  async #importAdministrator({
    id: name,
    text,
  }: RecordReading & { kind: 'administrator' }): Promise<ImportOutcomeView> {
    this.#administrators ??= await loadAdministrators(this.#control)
    const body = isStoredAdministrator(text) ? { stored: text } : { password: text }
    const put = () => this.#control.call('admin.set', { params: { name }, body })
    return importOne({ existing: this.#administrators, id: name, text, put }, this.#rules)
  }

  /** Each is checked as `cardea config set` checks it. */
  async #importSetting({
    setting: { section, key, text },
  }: RecordReading & { kind: 'setting' }): Promise<ImportOutcomeView> {
    this.#settings ??= await loadSettings(this.#control)
    const put = () => this.#control.call('setting.set', { params: { section, key }, body: { value: text } })
    return importOne({ existing: this.#settings, id: settingId(section, key), text, put }, this.#rules)
  }

  #count(record: Found, heading: Heading, outcome: ImportOutcomeView): void {
    this.totals[heading][outcome.kind] += 1
    if (outcome.kind === 'refused') this.#add(record, 'refused', outcome.reason)
  }

  #add({ line, reading: { id } }: Found, kind: 'refused' | 'note', reason: string): void {
    this.#report.add({ kind, line, id, reason })
  }
}

/** The texts of the administrators or settings that exist already. A secret that may not be read is `undefined`. */
type Existing = ReadonlyMap<string, string | undefined>

async function loadAdministrators(control: Control): Promise<Existing> {
  const { administrators } = await control.call('transfer.administrators')
  return new Map(administrators.map(({ name, text }) => [name, text]))
}

const settingId = (section: string, key: string): string => JSON.stringify([section, key])

async function loadSettings(control: Control): Promise<Existing> {
  const { settings } = await control.call('transfer.settings')
  return new Map(settings.map(({ section, key, text }) => [settingId(section, key), text]))
}

interface Single {
  readonly existing: Existing
  readonly id: string
  readonly text: string
  put(): Promise<unknown>
}

/** Administrators and settings are imported one by one: there are few, and each costs at most one hash. */
async function importOne(
  { existing, id, text, put }: Single,
  { replaces, isTrial }: ImportRules,
): Promise<ImportOutcomeView> {
  const isNew = !existing.has(id)
  if (!isNew && (!replaces || existing.get(id) === text)) return { kind: 'kept' }
  try {
    if (!isTrial) await put()
    return { kind: isNew ? 'created' : 'replaced' }
  } catch (error) {
    if (!(error instanceof ControlFailure)) throw error
    return { kind: 'refused', reason: error.message }
  }
}
