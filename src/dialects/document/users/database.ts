/** The endpoints about the users database as a whole. */
import { Refusal } from '../../../base/errors.ts'
import { yieldToOthers } from '../../../base/pace.ts'
import { ADMIN_ROLE } from '../../../directory/identity.ts'
import type { Reply, RequestHead, RequestIdentity } from '../../../http/request-context.ts'
import { requireJsonType, toDocumentReply } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import { toSequenceText } from './user-changes.ts'

export async function usersInfo({ database, directory, changes }: UsersDeps): Promise<Record<string, unknown>> {
  const [head, count] = await Promise.all([changes.head(), directory.countUsers()])
  return {
    instance_start_time: '0',
    db_name: database,
    update_seq: toSequenceText(head),
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

/** Deletes all users. The database itself is part of the server and stays. */
export async function deleteDatabase(context: RequestIdentity, { directory, settings }: UsersDeps): Promise<Reply> {
  if (!settings().couchdb.users_db_deletable)
    throw new Refusal('forbidden', { reason: 'The database of users cannot be deleted.' })
  for (let users = await directory.listUsers({ limit: PAGE }); users.length > 0; ) {
    for (const { name } of users) {
      await directory.removeUser(name, context, 'any').catch(ignoreNotFound)
      await yieldToOthers()
    }
    users = context.signal.aborted ? [] : await directory.listUsers({ limit: PAGE })
  }
  return toDocumentReply(200, { ok: true })
}

/** Another request may have deleted the user in the meantime. */
function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Refusal && error.code === 'not_found')) throw error
}

/** Without members, every client may open the database. The rules for documents decide what each client sees. */
const SECURITY = { admins: { names: [], roles: [ADMIN_ROLE] }, members: { names: [], roles: [] } }

export const getSecurity = (): Reply => toDocumentReply(200, SECURITY)

export function putSecurity(): never {
  throw new Refusal('forbidden', { reason: "You can't edit the security object of the user database." })
}

/** Does nothing: every write is on disk before it is answered. */
export function ensureFullCommit(context: RequestHead): Reply {
  requireJsonType(context)
  return toDocumentReply(201, { ok: true, instance_start_time: '0' })
}
