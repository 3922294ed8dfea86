// The job of this module: creates the database of a user, or takes it away from one that was deleted.
import { Refusal } from '../../base/errors.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Job } from '../../directory/store-port/jobs.ts'
import type { JobKinds } from '../../kernel/jobs.ts'
import type { ModuleCore } from '../module.ts'
import { createArangodb } from './arangodb.ts'
import { createCouchdb } from './couchdb.ts'
import { type Ask, createAsk, refuse, type UserDatabaseServer } from './server.ts'
import { type DatabaseDoor, listDoors, SERVERS, toDatabaseName } from './settings.ts'
import { acceptWish, type Claim, isBeingTaken, JOB_KIND, listRecords, putRecord, readKey, readWish } from './wishes.ts'

const MAX_BACK_OFF_MS = 15_000

/** While the database server is down the jobs of all users are tried again, so the pauses are not too short. */
const backOffMs = (attempts: number): number => Math.min(500 * 2 ** Math.min(attempts, 10), MAX_BACK_OFF_MS)

export const createJobKinds = (core: ModuleCore): JobKinds => ({
  [JOB_KIND]: {
    isUsed: () => listDoors(core.config.get()).length > 0,
    backOffMs,
    run: (job, signal) => runJob(core, job, signal),
  },
})

async function runJob(core: ModuleCore, job: Job, signal: AbortSignal): Promise<void> {
  const { door, name } = readKey(job.key)
  const wish = readWish(job.payload)
  const server = findServer(core, door, signal)
  if (!server) {
    // the next sign-in makes the wish again; nothing else remembers the database of a user that was deleted
    if (wish.action === 'create') return
    throw new Refusal('upstream_unavailable', { detail: `no server is configured behind the ${door} door` })
  }
  if (wish.action === 'create') return createDatabase(core, server, job, wish.claim)
  const { database, action } = wish
  // a name that is too long was never accepted
  const taken = checkLength(door, database) === undefined ? await server[action](database, name) : undefined
  if (taken)
    core.kernel.events.record(`user-database.${taken}`, { subject: name, database, server: SERVERS[door].name })
}

function findServer(
  { gateway, directory }: ModuleCore,
  door: DatabaseDoor,
  signal: AbortSignal,
): UserDatabaseServer | undefined {
  const upstream = gateway.find(door)
  return upstream && createServer(door, createAsk(upstream, signal), directory)
}

export const createServer = (
  door: DatabaseDoor,
  ask: Ask,
  directory: Pick<Directory, 'setGrant'>,
): UserDatabaseServer => (door === 'document' ? createCouchdb(ask) : createArangodb(ask, directory))

/** How long the server may still be busy with an attempt whose reply took too long. */
const MAX_CREATION_MS = 60_000

async function createDatabase(core: ModuleCore, server: UserDatabaseServer, job: Job, claim: Claim): Promise<void> {
  const { config, directory, kernel } = core
  const { door, name } = readKey(job.key)
  const settings = config.get()
  const { statements } = kernel.store
  const database = toDatabaseName(settings, name)
  // deleted meanwhile: the next job takes the database away, and a later user of the name has a job of its own
  const isLeft = !(await directory.findUser(name)) || (await isBeingTaken(statements, { door, name }, database))
  if (!listDoors(settings).includes(door) || isLeft) return
  const mayBeHalfMade = job.attempts > 1 && kernel.clock.nowMs() - job.begunMs < MAX_CREATION_MS
  const { shards } = settings['user-databases']
  const tooLong = checkLength(door, database)
  const onAccepted = async () => {
    if (claim === 'none') await acceptWish(statements, job)
  }
  const how = { claim, shards, mayBeHalfMade, onAccepted }
  const created = tooLong === undefined ? await server.create(database, name, how) : refuse(tooLong)
  const known = (await listRecords(statements, name)).find((each) => each.door === door && each.database === database)
  const { reason } = created
  const state = reason === undefined ? 'ready' : 'refused'
  await putRecord(statements, { name, door, database, state, reason: reason ?? '' })
  const common = { subject: name, database, server: SERVERS[door].name }
  if (reason !== undefined) kernel.events.record('user-database.refused', { ...common, reason })
  else if (created.state === 'given' || known?.state !== state) kernel.events.record('user-database.created', common)
}

function checkLength(door: DatabaseDoor, database: string): string | undefined {
  const { name, maxBytes } = SERVERS[door]
  if (Buffer.byteLength(database) <= maxBytes) return undefined
  return `the name of the user is too long: a database in ${name} has at most ${maxBytes} characters`
}
