// What `cardea check` finds about the databases of users.
import { messageOf } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import { askStore, type HealthCheck, type HealthProblem } from '../../observe/health.ts'
import type { Engine } from '../../store/engine.ts'
import type { FindDatabase, Finding, ModuleCheck, ModuleCore } from '../module.ts'
import type { ServerReply } from '../reply.ts'
import { createAsk } from './server.ts'
import { type DatabaseDoor, listDoors, SERVERS } from './settings.ts'
import { countUndecided } from './wishes.ts'

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

/** The default of `database_prefix` in CouchDB. */
const DEFAULT_PREFIX = 'userdb-'

/** CouchDB's own daemon must not do it too: it knows only users that are copied to CouchDB. */
function comparePeruser({ body }: ServerReply, prefix: string): readonly Finding[] {
  const read = (name: string) => (isJsonObject(body) ? body[name] : undefined)
  const other = read('database_prefix') ?? DEFAULT_PREFIX
  const isEnabled = read('enable') === 'true'
  const findings: Finding[] = []
  // another one that is set is that of databases which users have
  if (other !== prefix && (isEnabled || other !== DEFAULT_PREFIX))
    findings.push({
      level: 'warning',
      message: `user-databases.prefix is ${prefix}, and that of couch_peruser in CouchDB ${String(other)}`,
      advice: 'Set both to the prefix of the databases that users have.',
    })
  if (isEnabled)
    findings.push({
      level: 'warning',
      message: 'CouchDB creates databases for users, too',
      advice: 'Set enable = false in [couch_peruser] of CouchDB.',
    })
  return findings
}

/** Warnings of the check for the log of a start. A database that does not respond gives none. */
export async function noteDaemon({ config, gateway }: ModuleCore): Promise<readonly string[]> {
  const values = config.get()
  const database = listDoors(values).includes('document') ? gateway.find('document') : undefined
  if (!database) return []
  const findings = await checkDoor('document', values, database)
  return findings.filter(({ level }) => level === 'warning').map(({ message, advice }) => `${message}. ${advice}`)
}

/** Databases that an administrator has to decide about. Requests of other users do not need them. */
export const listHealth = ({ config, kernel }: ModuleCore): readonly HealthCheck[] =>
  config.get()['user-databases'].enabled
    ? [{ name: 'user-databases', find: () => findRefused(kernel.store.statements) }]
    : []

async function findRefused(statements: Engine): Promise<HealthProblem | undefined> {
  const count = await askStore(countUndecided(statements), 0)
  return count === 0 ? undefined : { reason: `databases of users that need a decision: ${count}`, isWarning: true }
}
