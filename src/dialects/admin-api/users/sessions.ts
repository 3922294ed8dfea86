// The sessions of an account: shows where they are from, and ends them.
import { Refusal } from '../../../base/errors.ts'
import { MAX_SESSION_RECORDS, type SessionRecord } from '../../../directory/store-port/sessions.ts'
import { type Call, type OperationDeps, operation, requireAccountName } from '../operation.ts'
import { ENDED_SESSIONS, SESSION_RECORD, SESSIONS, type UserSession } from '../schemas/account.ts'
import { requireManagedName } from './delegation.ts'
import { nameOf } from './users.ts'

export const SESSION_OPERATIONS = {
  'account.sessions': operation('GET /account/sessions', 'self', {
    summary: 'List your sessions',
    reply: SESSIONS,
    run: (deps, call) => showSessions(deps, call, requireAccountName(call)),
  }),
  'account.end-session': operation('DELETE /account/sessions/{id}', 'self', {
    summary: 'End one of your sessions',
    reply: SESSION_RECORD,
    run: (deps, call) => endSession(deps, call, requireAccountName(call)),
  }),
  'account.end-other-sessions': operation('POST /account/sessions/end-others', 'self', {
    summary: 'End all your sessions except the current one',
    reply: ENDED_SESSIONS,
    run: (deps, call) => endSessions(deps, call, requireAccountName(call)),
  }),
  'user.sessions': operation('GET /users/{name}/sessions', 'userAdmin', {
    summary: 'List the sessions of a user or administrator',
    reply: SESSIONS,
    async run(deps, call) {
      await requireManagedAccount(deps, call)
      return showSessions(deps, call, nameOf(call))
    },
  }),
  'user.end-sessions': operation('DELETE /users/{name}/sessions', 'userAdmin', {
    summary: 'End all sessions of a user or administrator except the one of the request',
    reply: ENDED_SESSIONS,
    async run(deps, call) {
      await requireManagedAccount(deps, call)
      return endSessions(deps, call, nameOf(call))
    },
  }),
  'user.end-session': operation('DELETE /users/{name}/sessions/{id}', 'userAdmin', {
    summary: 'End one session of a user or administrator',
    reply: SESSION_RECORD,
    async run(deps, call) {
      await requireManagedAccount(deps, call)
      return endSession(deps, call, nameOf(call))
    },
  }),
}

/** Sessions of administrators can be shown and ended too. */
async function requireManagedAccount(deps: OperationDeps, call: Call): Promise<void> {
  const name = nameOf(call)
  await requireManagedName(deps, call, name)
  if (deps.directory.isAdministrator(name) || (await deps.directory.findUser(name))) return
  throw new Refusal('not_found')
}

/** One page has all of them: the store keeps at most `MAX_SESSION_RECORDS` sessions of a name. */
export async function showSessions({ directory }: OperationDeps, call: Call, name: string) {
  const { sessions } = await directory.listSessions({ name, limit: MAX_SESSION_RECORDS })
  return { sessions: sessions.map((record) => showSession(record, call)) }
}

const showSession = ({ name: _name, generation: _generation, ...record }: SessionRecord, { caller }: Call) => ({
  ...record,
  isCurrent: caller?.sessionId === record.id,
})

async function endSession({ directory }: OperationDeps, call: Call, name: string): Promise<UserSession> {
  const ended = await directory.revokeSession(call.params['id'] ?? '', name)
  if (!ended) throw new Refusal('not_found', { reason: 'No session of this account has this id.' })
  return showSession(ended, call)
}

/** The session of the request stays. */
async function endSessions({ directory }: OperationDeps, { caller }: Call, name: string) {
  return { endedSessions: await directory.revokeSessions(name, caller?.sessionId) }
}

export async function countSessions({ directory }: OperationDeps, name: string): Promise<number> {
  const { sessions } = await directory.listSessions({ name, limit: MAX_SESSION_RECORDS })
  return sessions.length
}
