// Many users at once, in and out. The one place of this API that shows stored passwords: who moves users needs them.

import { Refusal } from '../../base/errors.ts'
import type { ImportOutcome, UserDraft } from '../../directory/directory.ts'
import { FORMAT_NAMES } from '../../transfer/format-names.ts'
import { FORMATS } from '../../transfer/formats.ts'
import { readDraft } from '../../transfer/read-draft.ts'
import { type RecordWriter, toReason, type Written } from '../../transfer/records.ts'
import { findArgument, findText, isFlag, isList, readMembers, requireArgument } from './arguments.ts'
import { type Call, type ControlDeps, CURRENT_PASSWORD, type Operation } from './operation.ts'
import { readPage } from './users.ts'

export type ShownOutcome =
  | { readonly kind: 'created' | 'replaced' | 'kept' }
  | { readonly kind: 'refused'; readonly reason: string }

export interface ExportPage {
  readonly users: readonly ExportedUser[]
  /** To be sent as `after` for the page that follows; absent on the last. */
  readonly next?: string
}

export interface ExportedUser extends Written {
  readonly name: string
}

export const EXCHANGE_OPERATIONS = {
  'exchange.import': {
    method: 'POST',
    path: '/exchange/users',
    async run({ directory }, call) {
      const members = readMembers(call.body, ['users', 'replace', 'trial', CURRENT_PASSWORD])
      const list = requireArgument(members, 'users', isList, 'a list')
      const replaces = findArgument(members, 'replace', isFlag, 'true or false') ?? false
      const isTrial = findArgument(members, 'trial', isFlag, 'true or false') ?? false
      if (list.length > MAX_USERS) throw new Refusal('bad_request', { about: `users must be ${MAX_USERS} at most.` })
      const current = findText(members, CURRENT_PASSWORD)
      const readings = replaces ? await guardOwn(list.map(readOne), call, current) : list.map(readOne)
      return { outcomes: await importAll(directory, readings, { onTaken: replaces ? 'replace' : 'keep', isTrial }) }
    },
  },
  'exchange.export': {
    method: 'GET',
    path: '/exchange/users',
    async run({ directory, events }, { query }): Promise<ExportPage> {
      const writer = readWriter(query)
      const { page, next } = await readPage(directory, query)
      const users = page.map((user) => ({ name: user.name, ...writer.writeUser(user) }))
      events.record('users.exported', { count: users.length })
      return { users, ...(next !== undefined && { next }) }
    },
  },
  'exchange.administrators': {
    method: 'GET',
    path: '/exchange/administrators',
    run({ directory, events }) {
      const administrators = directory.listAdministrators()
      events.record('users.exported', { count: administrators.length })
      return { administrators }
    },
  },
  'exchange.count': {
    method: 'GET',
    path: '/exchange/count',
    run: async ({ directory }) => ({ users: await directory.countUsers() }),
  },
} as const satisfies Record<string, Operation<unknown>>

/** How the records are to be written. What stands around them is for who asks. */
function readWriter(query: URLSearchParams): RecordWriter {
  const format = FORMAT_NAMES.find((name) => name === query.get('format'))
  if (!format) throw new Refusal('bad_request', { about: `format must be one of ${FORMAT_NAMES.join(', ')}.` })
  return FORMATS[format].createWriter({ idPrefix: query.get('id-prefix') ?? '', administrators: [] })
}

/** The store is busy with all of them at once. */
const MAX_USERS = 1000

interface ImportRules {
  readonly onTaken: 'keep' | 'replace'
  readonly isTrial: boolean
}

/** A record that cannot be read has its own outcome, and the others theirs. */
async function importAll(
  directory: ControlDeps['directory'],
  readings: readonly Reading[],
  { onTaken, isTrial }: ImportRules,
): Promise<readonly ShownOutcome[]> {
  const drafts = readings.flatMap((reading) => ('draft' in reading ? [reading.draft] : []))
  const outcomes = (await directory.importUsers(drafts, onTaken, { isTrial })).values()
  return readings.map((reading) => ('draft' in reading ? show(outcomes.next().value) : reading))
}

type Reading = { readonly draft: UserDraft } | (ShownOutcome & { readonly kind: 'refused' })

/** A record that replaces the user who sends it changes the own password: it is refused without a proof of that one. */
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
  if (!outcome) throw new TypeError('A draft had no outcome')
  return outcome.kind === 'refused' ? { kind: 'refused', reason: toReason(outcome.error) } : { kind: outcome.kind }
}
