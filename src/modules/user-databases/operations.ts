import { badRequest } from '../../base/errors.ts'
import { type OperationDeps, operation } from '../../dialects/admin-api/operation.ts'
import { requireManagedUser } from '../../dialects/admin-api/users/delegation.ts'
import { CREATION_PAGE, CREATION_QUERY, SUMMARY, USER_DATABASES, type UserDatabaseView } from './schemas.ts'
import { listDoors, SERVERS, toDatabaseName } from './settings.ts'
import {
  addWishes,
  type DatabaseRecord,
  findProgress,
  listMissing,
  listRecords,
  listRefused,
  listWaiting,
  type Owner,
} from './wishes.ts'

/** Other writers wait for the transaction of a page. */
const PAGE_SIZE = 200

export const USER_DATABASE_OPERATIONS = {
  'user.databases': operation('GET /users/{name}/databases', 'userAdmin', {
    summary: "Show the user's own databases",
    reply: USER_DATABASES,
    async run(deps, call) {
      const { name } = await requireManagedUser(deps, call)
      return { databases: await showDatabases(deps, name) }
    },
  }),
  'database.users': operation('GET /databases/of-users', 'administrator', {
    summary: 'Show how far the creation of databases for users is, and which ones need a decision',
    reply: SUMMARY,
    async run({ statements, options }) {
      const { enabled: isEnabled, prefix } = options()['user-databases']
      const { waiting, problem } = await findProgress(statements)
      const refused = (await listRefused(statements)).map((record) => ({ user: record.name, ...showRecord(record) }))
      return { isEnabled, prefix, waiting, ...(problem !== '' && { problem }), refused }
    },
  }),
  'database.create-missing': operation('POST /databases/of-users', 'administrator', {
    summary: 'Create the databases of users who have none, and try refused ones again, for one page of users',
    query: CREATION_QUERY,
    reply: CREATION_PAGE,
    async run({ statements, options, directory }, { query: { after } }) {
      const settings = options()
      if (listDoors(settings).length === 0)
        throw badRequest('Set user-databases.enabled, and the database server behind a door.')
      const from = after === undefined ? {} : { from: { name: after, isInclusive: false } }
      const names = (await directory.listUsers({ ...from, limit: PAGE_SIZE })).map(({ name }) => name)
      const owners: Owner[] = []
      for (const name of names)
        for (const door of await listMissing(statements, name, settings, true)) owners.push({ door, name })
      const next = names.length === PAGE_SIZE ? names.at(-1) : undefined
      const wished = await addWishes(statements, owners)
      return { checked: names.length, wished, ...(next !== undefined && { next }) }
    },
  }),
}

const showRecord = ({ door, database, state, reason }: DatabaseRecord): UserDatabaseView => ({
  server: SERVERS[door].name,
  database,
  state,
  ...(reason !== '' && { reason }),
})

async function showDatabases({ statements, options }: OperationDeps, name: string) {
  const settings = options()
  const records = await listRecords(statements, name)
  const waiting = await listWaiting(statements, name)
  return listDoors(settings).map((door): UserDatabaseView => {
    const record = records.find((each) => each.door === door)
    if (record && !waiting.includes(door)) return showRecord(record)
    const state = waiting.includes(door) ? 'waiting' : 'missing'
    return { server: SERVERS[door].name, database: toDatabaseName(settings, name), state }
  })
}
