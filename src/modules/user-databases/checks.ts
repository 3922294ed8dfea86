// What `cardea check` finds about the databases of users.
import { messageOf } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import type { FindDatabase, Finding, ModuleCheck } from '../module.ts'
import { createAsk, type ServerReply } from './server.ts'
import { type DatabaseDoor, listDoors, SERVERS } from './settings.ts'

export const USER_DATABASE_CHECK: ModuleCheck = {
  name: 'user databases',
  isConfigured: ({ values }) => values['user-databases'].enabled,
  async find({ values }, { findDatabase }) {
    const doors = listDoors(values)
    if (doors.length === 0)
      return [problem('no database server is behind a door', 'Set upstream.document or upstream.multi-model.')]
    return (await Promise.all(doors.map((door) => checkDoor(door, values, findDatabase(door))))).flat()
  },
  ok: 'Cardea may create them',
}

const problem = (message: string, advice: string): Finding => ({ level: 'problem', message, advice })

/** What only an administrator of the server may read. */
const READ: Readonly<Record<DatabaseDoor, string>> = {
  document: '/_node/_local/_config/couch_peruser',
  'multi-model': '/_db/_system/_api/user',
}

async function checkDoor(
  door: DatabaseDoor,
  values: Settings['values'],
  database: ReturnType<FindDatabase>,
): Promise<readonly Finding[]> {
  const { name } = SERVERS[door]
  if (!database) return []
  try {
    const reply = await createAsk(database)(READ[door])
    // a server that only speaks the protocol of CouchDB has no such options
    if (reply.status === 404 && door === 'document') return []
    if (reply.status !== 200)
      return [
        problem(
          `${name} does not let Cardea create databases: status ${reply.status}`,
          `Compare upstream.${door}-identity and its secret with the configuration of ${name}.`,
        ),
      ]
    return door === 'document' ? comparePeruser(reply, values['user-databases'].prefix) : []
  } catch (error) {
    return [problem(`${name} cannot be asked: ${messageOf(error)}`, 'Check that it is running.')]
  }
}

/** CouchDB's own daemon must not do it too: it knows only users that are copied to CouchDB. */
function comparePeruser({ body }: ServerReply, prefix: string): readonly Finding[] {
  const read = (name: string) => (isJsonObject(body) ? body[name] : undefined)
  const other = read('database_prefix') ?? 'userdb-'
  if (other !== prefix)
    return [
      {
        level: 'warning',
        message: `user-databases.prefix is ${prefix}, and that of couch_peruser in CouchDB ${String(other)}`,
        advice: 'Set both to the prefix of the databases that users have.',
      },
    ]
  if (read('enable') !== 'true') return []
  return [
    {
      level: 'warning',
      message: 'CouchDB creates databases for users, too',
      advice: 'Set enable = false in [couch_peruser] of CouchDB.',
    },
  ]
}
