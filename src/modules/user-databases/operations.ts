import { badRequest } from '../../base/errors.ts'
import { type OperationDeps, operation, requireServer } from '../../dialects/admin-api/operation.ts'
import { requireManagedUser } from '../../dialects/admin-api/users/delegation.ts'
import {
  CREATION_PAGE,
  CREATION_QUERY,
  GIVEN_DATABASES,
  SUMMARY,
  USER_DATABASES,
  type UserDatabaseView,
  WITHOUT_USER,
} from './schemas.ts'
import { createAsk } from './server.ts'
import {
  type DatabaseDoor,
  findUserOf,
  listDoors,
  SERVERS,
  toDatabaseName,
  type UserDatabaseSettings,
} from './settings.ts'
import {
  addWishes,
  type DatabaseRecord,
  findProgress,
  findUsers,
  listRecords,
  listRefused,
  listWaiting,
  listWanted,
  type Wanted,
} from './wishes.ts'
import { createServer } from './work.ts'

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
  'user.give-database': operation('POST /users/{name}/databases', 'administrator', {
    summary: 'Give the user the refused databases of its name, with what they hold',
    reply: GIVEN_DATABASES,
    async run(deps, call) {
      const { name } = await requireManagedUser(deps, call)
      const settings = requireDatabases(deps)
      const refused = await listWanted(deps.statements, name, settings, 'undecided')
      const owners = refused.map((owner) => ({ ...owner, claim: 'any' as const }))
      const database = toDatabaseName(settings, name)
      for (const { door } of owners)
        deps.events.record('user-database.given', { subject: name, database, server: SERVERS[door].name })
      return { wished: await addWishes(deps.statements, owners) }
    },
  }),
  'database.without-user': operation('GET /databases/without-user', 'administrator', {
    summary: 'Show the databases with the names of users that do not exist',
    reply: WITHOUT_USER,
    async run(deps) {
      const settings = requireDatabases(deps)
      const found = await Promise.all(listDoors(settings).map((door) => listWithoutUser(deps, settings, door)))
      return { databases: found.flat().slice(0, MAX_SHOWN) }
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
    async run(deps, { query: { after, all } }) {
      const { statements, directory } = deps
      const settings = requireDatabases(deps)
      const from = after === undefined ? {} : { from: { name: after, isInclusive: false } }
      const names = (await directory.listUsers({ ...from, limit: PAGE_SIZE })).map(({ name }) => name)
      const owners: Wanted[] = []
      for (const name of names)
        owners.push(...(await listWanted(statements, name, settings, all === 'true' ? 'all' : 'refused')))
      const next = names.length === PAGE_SIZE ? names.at(-1) : undefined
      const wished = await addWishes(statements, owners)
      return { checked: names.length, wished, ...(next !== undefined && { next }) }
    },
  }),
}

function requireDatabases({ options }: OperationDeps) {
  const settings = options()
  if (listDoors(settings).length > 0) return settings
  throw badRequest('Set user-databases.enabled, and the database server behind a door.')
}

const MAX_SHOWN = 1000

async function listWithoutUser(deps: OperationDeps, settings: UserDatabaseSettings, door: DatabaseDoor) {
  const upstream = requireServer(deps).findUpstream(door)
  if (!upstream) return []
  const names = await createServer(door, createAsk(upstream), deps.directory).list(settings['user-databases'].prefix)
  const named = names.flatMap((database) => {
    const user = findUserOf(settings, database)
    return user === undefined ? [] : [{ server: SERVERS[door].name, database, user }]
  })
  const users = await findUsers(
    deps.statements,
    named.map(({ user }) => user),
  )
  return named.filter(({ user }) => !users.has(user))
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
  const database = toDatabaseName(settings, name)
  const isOwn = (each: DatabaseRecord) => each.database === database && listDoors(settings).includes(each.door)
  const wanted = (await listWanted(statements, name, settings, 'all')).map(({ door }): UserDatabaseView => {
    const record = records.find((each) => each.door === door && each.database === database)
    if (record && !waiting.includes(door)) return showRecord(record)
    return { server: SERVERS[door].name, database, state: waiting.includes(door) ? 'waiting' : 'missing' }
  })
  // of another prefix, or of a server that is not behind a door now
  return [...wanted, ...records.filter((each) => !isOwn(each)).map(showRecord)]
}
