import { Refusal } from '../../base/errors.ts'
import { type OperationDeps, operation, requireServer } from '../../dialects/admin-api/operation.ts'
import { flag, integer, listOf, NEXT, object, oneOf, text } from '../../dialects/admin-api/schemas/schema.ts'
import { toIdPrefix } from '../../dialects/document/users/id.ts'
import { type AdoptionDeps, planUsers } from './adopt.ts'
import { type ChangesPage, createUsersDatabase, type UsersDatabase } from './database.ts'
import { createPasswordForms } from './password-forms.ts'
import { readChange } from './reading.ts'
import {
  beginCopy,
  changeCopy,
  HEALTH_NAME,
  hasOwnUsers,
  listRefusedDocuments,
  PHASES,
  readCopyState,
} from './state.ts'

const PLAN_SIZE = 100
const LIST_SIZE = 1000

const SOURCE = object({
  source: oneOf(['own', 'couchdb'], 'Where the users are now.'),
  phase: oneOf([...PHASES, 'none'], 'none: the store has no copy of the users in CouchDB.'),
  done: integer('Users, or changes, that are done in this phase.'),
  pending: integer('Those that follow.'),
  releasing: flag('Whether the copy becomes the users of the store, as soon as it has all changes.'),
  'problem?': text('What the health says about it.'),
  leftOut: listOf(object({ document: text(), reason: text() }), 'Documents whose users cannot sign in. At most 1000.'),
})

const NOT_COPIED =
  'The users of CouchDB are not copied yet. Wait until the server is ready, or release what is copied without the rest.'

export const DIRECTORY_OPERATIONS = {
  'directory.source': operation('GET /directory', 'administrator', {
    summary: 'Show where the users are, and how far their copy is',
    reply: SOURCE,
    run: showSource,
  }),
  'directory.adoption': operation('GET /directory/adoption', 'administrator', {
    summary: 'Show what the adoption by CouchDB would change, for one page of users',
    query: object({ 'after?': text('`next` of the previous page.') }),
    reply: object({
      checked: integer('Users on the page.'),
      created: integer('Users who have no document in CouchDB.'),
      replaced: listOf(text(), 'Users who have another document there.'),
      kept: listOf(text(), 'Users whose passwords CouchDB cannot verify.'),
      held: listOf(text(), 'Users whose limits CouchDB does not know, and who get no password there.'),
      'next?': NEXT,
    }),
    async run(deps, { query: { after } }) {
      const from = after === undefined ? {} : { from: { name: after, isInclusive: false } }
      const users = await deps.directory.listUsers({ ...from, limit: PLAN_SIZE })
      const plans = await planUsers(findAdoptionDeps(deps), users)
      const next = users.length === PLAN_SIZE ? users.at(-1)?.name : undefined
      return {
        checked: plans.length,
        created: plans.filter(({ change }) => change === 'created').length,
        replaced: plans.filter(({ change }) => change === 'replaced').map(({ name }) => name),
        kept: plans.filter(({ isPasswordKept }) => isPasswordKept).map(({ name }) => name),
        held: plans.filter(({ isPasswordHeld }) => isPasswordHeld).map(({ name }) => name),
        ...(next !== undefined && { next }),
      }
    },
  }),
  'directory.others': operation('GET /directory/others', 'administrator', {
    summary: 'List users of CouchDB who are no users here, for one page of its changes',
    query: object({ 'after?': text('`next` of the previous page.') }),
    reply: object({ names: listOf(text()), 'next?': NEXT }),
    async run(deps, { query: { after: since = '0' } }) {
      const { database, prefix } = findAdoptionDeps(deps)
      const { page, limit } = await readBare(database, since)
      const documents = page.rows.flatMap((row) => readChange(row, prefix) ?? [])
      const names = documents.filter(({ reading }) => reading.kind !== 'deleted').map(({ name }) => name)
      const users = await Promise.all(names.map((name) => isKnown(deps, name)))
      return {
        names: names.filter((_name, index) => !users[index]),
        ...(page.rows.length === limit && { next: page.lastSeq }),
      }
    },
  }),
  'directory.adopt': operation('POST /directory/adoption', 'administrator', {
    summary: 'Write the users of the store to CouchDB, whose users they are from then on',
    body: object({ 'replace?': flag('Whether other documents of these users are replaced.') }),
    reply: SOURCE,
    async run(deps, { body: { replace = false } }) {
      const { statements } = deps
      const { progress } = (await readCopyState(statements)) ?? {}
      if (!progress) {
        // throws if it cannot be reached, before the users wait for it
        await findAdoptionDeps(deps).database.countUsers()
        await beginCopy(statements, { phase: 'adopting', replaces: replace })
        deps.events.record('directory.move-begun', { target: 'CouchDB' })
      } else if (progress.release || (replace && progress.phase === 'adopting'))
        // a release that waits for changes is cancelled
        await changeCopy(statements, ({ release, ...before }) => ({ ...before, ...(replace && { replaces: true }) }))
      return showSource(deps)
    },
  }),
  'directory.release': operation('POST /directory/release', 'administrator', {
    summary: 'Make the copy of the users in CouchDB the users of the store, as soon as it has all changes',
    body: object({ 'now?': flag('Do not wait for changes that are not copied, as when CouchDB is lost.') }),
    reply: SOURCE,
    async run(deps, { body: { now = false } }) {
      const { progress } = (await readCopyState(deps.statements)) ?? {}
      if (!progress) return showSource(deps)
      if (progress.phase === 'filling' && !now) throw new Refusal('conflict', { reason: NOT_COPIED })
      const release = now || hasOwnUsers(progress) ? 'now' : 'complete'
      if (progress.release !== release) {
        await changeCopy(deps.statements, (before) => ({ ...before, release }))
        deps.events.record('directory.move-begun', { target: 'Cardea' })
      }
      return showSource(deps)
    },
  }),
}

/** Fewer lines while ids are long. */
async function readBare(database: UsersDatabase, since: string): Promise<{ page: ChangesPage; limit: number }> {
  for (let limit = LIST_SIZE; ; limit = Math.ceil(limit / 2)) {
    const page = await database.readChanges({ since, limit, waitMs: 0, isBare: true })
    if (page) return { page, limit }
    if (limit === 1) throw new Refusal('upstream_failed', { detail: 'CouchDB: a line of the changes is too large' })
  }
}

const isKnown = async ({ directory }: OperationDeps, name: string): Promise<boolean> => {
  try {
    return (await directory.findUser(name)) !== undefined
  } catch (error) {
    if (error instanceof Refusal && error.code === 'record_damaged') return true
    throw error
  }
}

async function showSource(deps: OperationDeps) {
  const server = requireServer(deps)
  const mirror = await readCopyState(deps.statements)
  const { parts } = await server.health()
  const problem = parts.find(({ name }) => name === HEALTH_NAME)?.problem
  const refused = await listRefusedDocuments(deps.statements, { limit: LIST_SIZE })
  return {
    source: mirror ? 'couchdb' : 'own',
    phase: mirror?.progress.phase ?? 'none',
    done: mirror?.progress.done ?? 0,
    pending: mirror?.progress.pending ?? 0,
    releasing: mirror?.progress.release !== undefined,
    ...(problem != null && { problem }),
    leftOut: refused.map(({ document, reason }) => ({ document, reason })),
  } as const
}

function findAdoptionDeps(deps: OperationDeps): AdoptionDeps {
  const { chttpd_auth: auth, document } = deps.options()
  const database = createUsersDatabase(() => requireServer(deps).findUpstream('document'), auth.authentication_db)
  return { database, prefix: toIdPrefix(document.name), isVerifiable: createPasswordForms(database).isVerifiable }
}
