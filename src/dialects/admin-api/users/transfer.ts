// Import and export of many users. Only these operations return stored password hashes.

import { Refusal } from '../../../base/errors.ts'
import type { ImportOutcome, UserDraft } from '../../../directory/users/user-directory.ts'
import { FORMAT_NAMES, type FormatName } from '../../../transfer/format-names.ts'
import { FORMATS } from '../../../transfer/formats.ts'
import { readDraft } from '../../../transfer/read-draft.ts'
import { toReason, type Written } from '../../../transfer/records.ts'
import { FLAG, findArgument, findText, LIST, readMembers, requireArgument } from '../json.ts'
import { type Call, CURRENT_PASSWORD, type Operation, type OperationDeps } from '../operation.ts'
import type { StoredSetting } from '../system/settings-editor.ts'
import { readPage } from './users.ts'

export type ShownOutcome =
  | { readonly kind: 'created' | 'replaced' | 'kept' }
  | { readonly kind: 'refused'; readonly reason: string }

export interface ExportPage {
  readonly users: readonly ExportedUser[]
  /** Names of users that are not exported because their records are damaged; absent if there are none. */
  readonly damaged?: readonly string[]
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string
}

export interface ExportedUser extends Written {
  readonly name: string
}

export const TRANSFER_OPERATIONS = {
  'transfer.import': {
    method: 'POST',
    path: '/transfer/users',
    async run({ directory }, call) {
      const members = readMembers(call.body, ['users', 'replace', 'trial', CURRENT_PASSWORD])
      const list = requireArgument(members, 'users', LIST)
      const replaces = findArgument(members, 'replace', FLAG) ?? false
      const isTrial = findArgument(members, 'trial', FLAG) ?? false
      if (list.length > MAX_USERS)
        throw new Refusal('bad_request', { about: `users must have at most ${MAX_USERS} entries.` })
      const current = findText(members, CURRENT_PASSWORD)
      const readings = replaces ? await guardOwn(list.map(readOne), call, current) : list.map(readOne)
      return { outcomes: await importAll(directory, readings, { onTaken: replaces ? 'replace' : 'keep', isTrial }) }
    },
  },
  'transfer.export': {
    method: 'GET',
    path: '/transfer/users',
    async run({ directory, events }, { query }): Promise<ExportPage> {
      const { writeUser } = readFormat(query)
      const idPrefix = query.get('id-prefix') ?? ''
      const { page, next, damaged } = await readPage(directory, query)
      const users = page.map((user) => ({ name: user.name, ...writeUser(user, idPrefix) }))
      events.record('users.exported', { count: users.length })
      return { users, ...(damaged.length > 0 && { damaged }), ...(next !== undefined && { next }) }
    },
  },
  'transfer.administrators': {
    method: 'GET',
    path: '/transfer/administrators',
    run({ directory, events }) {
      const administrators = directory.listAdministrators().map(({ name, text }) => ({ name, text }))
      events.record('users.exported', { count: administrators.length })
      return { administrators }
    },
  },
  'transfer.settings': {
    method: 'GET',
    path: '/transfer/settings',
    async run({ settings, events }, { caller }) {
      // secrets do not leave the machine: only the owner of the process sees them
      const isShown = caller?.isOwner ?? true
      const stored = await settings.listStored()
      events.record('settings.exported', { count: stored.length })
      return { settings: stored.map((setting) => showSetting(setting, isShown)) }
    },
  },
  'transfer.count': {
    method: 'GET',
    path: '/transfer/count',
    run: async ({ directory }) => ({ users: await directory.countUsers() }),
  },
} as const satisfies Record<string, Operation<unknown>>

export interface ExportedSetting {
  readonly section: string
  readonly key: string
  /** Absent for a secret that the caller may not see. */
  readonly text?: string
}

const showSetting = ({ section, key, text, isSecret }: StoredSetting, isShown: boolean): ExportedSetting =>
  isSecret && !isShown ? { section, key } : { section, key, text }

/** Only single records are written here. The client adds what a whole file of that format needs around them. */
function readFormat(query: URLSearchParams): (typeof FORMATS)[FormatName] {
  const format = FORMAT_NAMES.find((name) => name === query.get('format'))
  if (!format) throw new Refusal('bad_request', { about: `format must be one of ${FORMAT_NAMES.join(', ')}.` })
  return FORMATS[format]
}

/** The store handles all users of a request at once, so their number is limited. */
const MAX_USERS = 1000

interface ImportRules {
  readonly onTaken: 'keep' | 'replace'
  readonly isTrial: boolean
}

/** Returns one outcome for each record, also for those that cannot be read. */
async function importAll(
  directory: OperationDeps['directory'],
  readings: readonly Reading[],
  { onTaken, isTrial }: ImportRules,
): Promise<readonly ShownOutcome[]> {
  const drafts = readings.flatMap((reading) => ('draft' in reading ? [reading.draft] : []))
  const outcomes = (await directory.importUsers(drafts, onTaken, { isTrial })).values()
  return readings.map((reading) => ('draft' in reading ? show(outcomes.next().value) : reading))
}

type Reading = { readonly draft: UserDraft } | (ShownOutcome & { readonly kind: 'refused' })

/** A record for the caller's own account could replace its password, so it needs a proof of the current one. */
async function guardOwn(
  readings: readonly Reading[],
  call: Call,
  current: string | undefined,
): Promise<readonly Reading[]> {
  const isOwn = (reading: Reading) => 'draft' in reading && reading.draft.name === call.caller?.name
  if (!readings.some(isOwn)) return readings
  try {
    await call.caller?.requirePassword(current)
    return readings
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'password_required') throw error
    const reason = toReason(error)
    return readings.map((reading) => (isOwn(reading) ? { kind: 'refused', reason } : reading))
  }
}

function readOne(value: unknown): Reading {
  try {
    return { draft: readDraft(value) }
  } catch (error) {
    return { kind: 'refused', reason: toReason(error) }
  }
}

function show(outcome: ImportOutcome | undefined): ShownOutcome {
  if (!outcome) throw new TypeError('The directory returned too few outcomes')
  return outcome.kind === 'refused' ? { kind: 'refused', reason: toReason(outcome.error) } : { kind: outcome.kind }
}
