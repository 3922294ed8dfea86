import { setImmediate as giveWay } from 'node:timers/promises'
import { Refusal } from '../../../base/errors.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { toJsonReply } from '../wire.ts'
import type { UsersDeps } from './deps.ts'
import { toSequenceText } from './sequence.ts'

/** What `GET` of the database tells. */
export async function usersInfo({ database, directory, changes, uuid }: UsersDeps): Promise<Record<string, unknown>> {
  const [sequence, count] = await Promise.all([changes.sequence(), directory.countUsers()])
  return {
    instance_start_time: '0',
    db_name: database,
    update_seq: toSequenceText(sequence, uuid()),
    purge_seq: 0,
    doc_count: count,
    disk_format_version: 8,
    compact_running: false,
    sizes: { active: 0, external: 0, file: 0 },
    props: {},
    cluster: { q: 1, n: 1, w: 1, r: 1 },
  }
}

export function putDatabase(): never {
  throw new Refusal('database_exists')
}

const PAGE = 500

/** Without its users the database is still there: it is part of the server. */
export async function deleteDatabase(context: RequestContext, { directory, settings }: UsersDeps): Promise<Reply> {
  if (!settings().isDeletable) throw new Refusal('forbidden', { about: 'The database of users cannot be deleted.' })
  for (let users = await directory.listUsers({ limit: PAGE }); users.length > 0; ) {
    for (const { name } of users) {
      await directory.removeUser(name, 'any').catch(passOverMissing)
      await giveWay()
    }
    users = context.signal.aborted ? [] : await directory.listUsers({ limit: PAGE })
  }
  return toJsonReply(200, { ok: true })
}

/** Somebody else deleted it meanwhile. */
function passOverMissing(error: unknown): void {
  if (!(error instanceof Refusal && error.code === 'not_found')) throw error
}

/** Everybody may come in and sees what the rules for documents let them see; none but administrators may do more. */
const SECURITY = { admins: { names: [], roles: ['_admin'] }, members: { names: [], roles: [] } }

export const getSecurity = (): Reply => toJsonReply(200, SECURITY)

export function putSecurity(): never {
  throw new Refusal('forbidden', { about: "You can't edit the security object of the user database." })
}

/** Every write that was answered is on disk already. */
export const ensureFullCommit = (): Reply => toJsonReply(201, { ok: true, instance_start_time: '0' })
