// Import and export of many users. Only these operations return stored password hashes.

import { badRequest, Refusal } from '../../../base/errors.ts'
import type { Caller } from '../../../directory/caller.ts'
import type { ImportOutcome } from '../../../directory/users/import-users.ts'
import type { UserDraft } from '../../../directory/users/user.ts'
import { readDraft } from '../../../transfer/draft.ts'
import { FORMAT_NAMES } from '../../../transfer/format-names.ts'
import { FORMATS } from '../../../transfer/formats.ts'
import type { Loss } from '../../../transfer/losses.ts'
import { toReason } from '../../../transfer/records.ts'
import { type Call, CURRENT_PASSWORD, type OperationDeps, operation } from '../operation.ts'
import type { StoredSetting } from '../ports.ts'
import { flag, integer, listOf, NEXT, object, oneOf, type Schema, type Static, text } from '../schemas/schema.ts'
import { PAGE_QUERY, USER } from '../schemas/users.ts'
import { readPage, showUser } from './users.ts'

const REFUSED = object({ kind: oneOf(['refused']), reason: text() })
const TAKEN = object({ kind: oneOf(['created', 'replaced', 'kept']), 'user?': USER })
type ShownOutcome = Static<typeof TAKEN> | Static<typeof REFUSED>
const OUTCOME: Schema<ShownOutcome> = { anyOf: [TAKEN, REFUSED] }

const LOSS: Schema<Loss> = { type: 'string' }
const EXPORTED_USER = object({
  name: text(),
  text: text('The record as an export holds it.'),
  losses: listOf(LOSS, 'What the format cannot hold of this user.'),
})
const EXPORT_PAGE = object({
  users: listOf(EXPORTED_USER),
  'damaged?': listOf(text(), 'Users that are left out because their records are damaged.'),
  'next?': NEXT,
})
const EXPORTED_SETTING = object({
  section: text(),
  key: text(),
  'text?': text('Present for a secret only at the control socket.'),
})

export const TRANSFER_OPERATIONS = {
  'transfer.import': operation('POST /transfer/users', 'administrator', {
    summary: 'Import users, with stored password hashes',
    body: object({
      users: listOf({}, 'At most 1000 users, each as a line of an export in the format `cardea` has it.'),
      'replace?': flag('Replace users that exist; otherwise they are kept.'),
      'trial?': flag('Check only, write nothing. Outcomes show the users that are kept because their names are taken.'),
      ...CURRENT_PASSWORD,
    }),
    reply: object({ outcomes: listOf(OUTCOME, 'One for each user, in order.') }),
    async run({ directory }, call) {
      const { users: list, replace: replaces = false, trial: isTrial = false, current_password: current } = call.body
      if (list.length > MAX_USERS) throw badRequest(`users must have at most ${MAX_USERS} entries.`)
      const readings = replaces ? await guardOwn(list.map(readOne), call, current) : list.map(readOne)
      return {
        outcomes: await importAll(directory, call.caller, readings, {
          onTaken: replaces ? 'replace' : 'keep',
          isTrial,
        }),
      }
    },
  }),
  'transfer.export': operation('GET /transfer/users', 'administrator', {
    summary: 'Export users, with stored password hashes',
    query: object({
      format: oneOf(FORMAT_NAMES),
      'id-prefix?': text('For the format `document`: the beginning of the ids of user documents.'),
      ...PAGE_QUERY,
    }),
    reply: EXPORT_PAGE,
    async run({ directory, events }, { query }) {
      // only single records: the client adds what a whole file of that format needs around them
      const { writeUser } = FORMATS[query.format]
      const idPrefix = query['id-prefix'] ?? ''
      const { users, next, damaged } = await readPage(directory, query)
      const exported = users.map((user) => ({ name: user.name, ...writeUser(user, idPrefix) }))
      events.record('users.exported', { count: users.length })
      return { users: exported, ...(damaged.length > 0 && { damaged }), ...(next !== undefined && { next }) }
    },
  }),
  'transfer.administrators': operation('GET /transfer/administrators', 'administrator', {
    summary: 'Export administrators, with stored password hashes',
    reply: object({ administrators: listOf(object({ name: text(), text: text('As [admins] has it.') })) }),
    run({ directory, events }) {
      const administrators = directory.listAdministrators().map(({ name, text }) => ({ name, text }))
      events.record('users.exported', { count: administrators.length })
      return { administrators }
    },
  }),
  'transfer.settings': operation('GET /transfer/settings', 'administrator', {
    summary: 'Export the settings made at run time',
    reply: object({ settings: listOf(EXPORTED_SETTING) }),
    async run({ settings, events }, { requester }) {
      // secrets do not leave the machine: only the owner of the process sees them
      const isShown = requester?.isOwner ?? true
      const stored = await settings.listStored()
      events.record('settings.exported', { count: stored.length })
      return { settings: stored.map((setting) => showSetting(setting, isShown)) }
    },
  }),
  'transfer.count': operation('GET /transfer/count', 'administrator', {
    summary: 'Count the users',
    reply: object({ users: integer() }),
    run: async ({ directory }) => ({ users: await directory.countUsers() }),
  }),
}

const showSetting = ({ section, key, text, isSecret }: StoredSetting, isShown: boolean) =>
  isSecret && !isShown ? { section, key } : { section, key, text }

/** The store handles all users of a request at once, so their number is limited. */
const MAX_USERS = 1000

/** Returns one outcome for each record, also for those that cannot be read. */
async function importAll(
  directory: OperationDeps['directory'],
  caller: Caller,
  readings: readonly DraftReading[],
  { onTaken, isTrial }: { readonly onTaken: 'keep' | 'replace'; readonly isTrial: boolean },
): Promise<readonly ShownOutcome[]> {
  const drafts = readings.flatMap((reading) => ('draft' in reading ? [reading.draft] : []))
  const outcomes = (await directory.importUsers(drafts, caller, onTaken, { isTrial })).values()
  return readings.map((reading) => ('draft' in reading ? show(outcomes.next().value, isTrial) : reading))
}

type DraftReading = { readonly draft: UserDraft } | Static<typeof REFUSED>

/** A record for the caller's own account could replace its password, so it needs a proof of the current one. */
async function guardOwn(
  readings: readonly DraftReading[],
  call: Call,
  current: string | undefined,
): Promise<readonly DraftReading[]> {
  const isOwn = (reading: DraftReading) => 'draft' in reading && reading.draft.name === call.requester?.name
  if (!readings.some(isOwn)) return readings
  try {
    await call.requester?.requirePassword(current)
    return readings
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'password_required') throw error
    const reason = toReason(error)
    return readings.map((reading) => (isOwn(reading) ? { kind: 'refused', reason } : reading))
  }
}

function readOne(value: unknown): DraftReading {
  try {
    return { draft: readDraft(value) }
  } catch (error) {
    return { kind: 'refused', reason: toReason(error) }
  }
}

function show(outcome: ImportOutcome | undefined, isTrial: boolean): ShownOutcome {
  if (!outcome) throw new TypeError('The directory returned too few outcomes')
  if (outcome.kind === 'refused') return { kind: 'refused', reason: toReason(outcome.error) }
  return { kind: outcome.kind, ...(isTrial && outcome.user && { user: showUser(outcome.user) }) }
}
