/**
 * Every operation of the admin API, as one table. The routes of the API are read from it, and the command line calls the
 * same rows when it has opened the store itself, so the two cannot differ.
 */
import { SOCKET_OWNER } from '../../auth/socket-owner.ts'
import { type Account, isAccount } from '../../directory/account.ts'
import { ANONYMOUS } from '../../directory/identity.ts'
import type { SessionOpening } from '../../directory/sessions/session.ts'
import type { Handler, HeaderPair, RequestContext, Route } from '../../http/request-context.ts'
import { API_PREFIX, OWN_PREFIX } from '../own-paths.ts'
import { readJsonBody, toJsonReply } from './json.ts'
import { type Caller, type Operation, type OperationDeps, operation, requireServer, runOperation } from './operation.ts'
import { findLowest, findRight, hasAllRights, type Right, requireRight } from './rights.ts'
import { flag, object, type Static } from './schemas/schema.ts'
import { HEALTH, RELOAD_RESULT } from './schemas/system.ts'

import { AUDIT_OPERATIONS } from './system/audit.ts'
import { DATABASE_OPERATIONS } from './system/databases.ts'
import { SETTING_OPERATIONS } from './system/options.ts'
import { NODE_OPERATIONS, OVERVIEW_OPERATIONS } from './system/overview.ts'
import { SECRET_OPERATIONS } from './system/secrets.ts'
import { ACCOUNT_OPERATIONS } from './users/account.ts'
import { ACCOUNT_TOKEN_OPERATIONS } from './users/account-tokens.ts'
import { ADMINISTRATOR_OPERATIONS } from './users/administrators.ts'
import { EXTERNAL_ACCOUNT_OPERATIONS } from './users/external-accounts.ts'
import { PASSWORD_LINK_OPERATIONS } from './users/password-links.ts'
import { ROLE_OPERATIONS } from './users/roles.ts'
import { SESSION_OPERATIONS } from './users/sessions.ts'
import { TRANSFER_OPERATIONS } from './users/transfer.ts'
import { USER_BATCH_OPERATIONS } from './users/user-batch.ts'
import { USER_ACCESS_OPERATIONS, USER_DETAIL_OPERATIONS } from './users/user-details.ts'
import { USER_OPERATIONS } from './users/users.ts'

export const OPERATIONS = {
  health: operation('GET /health', 'administrator', {
    summary: 'Show the state of this node',
    reply: HEALTH,
    run: (deps) => requireServer(deps).health(),
  }),
  reload: operation('POST /reload', 'administrator', {
    summary: 'Read the whole configuration again',
    body: object({ 'rolling?': flag('Also replace the worker threads, one by one, while requests are served.') }),
    isBodyOptional: true,
    reply: RELOAD_RESULT,
    async run(deps, { body }) {
      const roll = body.rolling ? requireServer(deps).findRoll() : undefined
      const result = await deps.reload()
      if (result.applied) roll?.()
      return result
    },
  }),
  ...ACCOUNT_OPERATIONS,
  ...ACCOUNT_TOKEN_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...ROLE_OPERATIONS,
  ...PASSWORD_LINK_OPERATIONS,
  ...USER_BATCH_OPERATIONS,
  ...EXTERNAL_ACCOUNT_OPERATIONS,
  ...USER_ACCESS_OPERATIONS,
  ...USER_OPERATIONS,
  ...USER_DETAIL_OPERATIONS,
  ...ADMINISTRATOR_OPERATIONS,
  ...TRANSFER_OPERATIONS,
  ...SETTING_OPERATIONS,
  ...OVERVIEW_OPERATIONS,
  ...DATABASE_OPERATIONS,
  ...NODE_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...SECRET_OPERATIONS,
}

export type OperationName = keyof typeof OPERATIONS
export type OperationResult<N extends OperationName> = Static<(typeof OPERATIONS)[N]['reply']>

const BY_SEGMENT: ReadonlyMap<string | undefined, readonly Operation[]> = Map.groupBy(
  Object.values<Operation>(OPERATIONS),
  ({ path }) => path.split('/')[1],
)

/** The lowest right of all operations with this first path segment. Without any, the path is for administrators. */
export const findSegmentRight = (segment: string | undefined): Right =>
  findLowest((BY_SEGMENT.get(segment) ?? []).map(({ allowed }) => allowed))

export interface OperationRoutesDeps extends OperationDeps {
  /** Throws unless the credential of the request has proved the password of its user, or `current` is that password. */
  requirePassword(context: RequestContext, current: string | undefined): Promise<void>
  /** The same, but a session always needs `current`. */
  requireCurrentPassword(context: RequestContext, current: string | undefined): Promise<void>
  /**
   * Opens another session for an account whose sessions have ended with a new password, if the request came with a
   * session cookie. Returns the headers of the new one. Left out where no browser can connect.
   */
  reopen?(context: RequestContext, account: Account, opening: SessionOpening): Promise<readonly HeaderPair[]>
}

export const operationRoutes = (deps: OperationRoutesDeps): readonly Route[] =>
  toRoutes(Object.values(OPERATIONS), API_PREFIX, deps)

/** The operations for the user's own account, beside the admin API and not below it. */
export const accountRoutes = (deps: OperationRoutesDeps): readonly Route[] =>
  toRoutes(BY_SEGMENT.get('account') ?? [], OWN_PREFIX, deps)

const toRoutes = (operations: readonly Operation[], prefix: string, deps: OperationRoutesDeps): readonly Route[] =>
  [...Map.groupBy(operations, ({ path }) => path)].flatMap(([path, rows]) => {
    const methods = Object.fromEntries(rows.map((row) => [row.method, toHandler(row, deps)]))
    return listNames(path).map((name) => ({ path: `${prefix}${name}`, methods }))
  })

/** The path, and its former name if it has one, which programs may still use. */
const listNames = (path: string): readonly string[] => [...new Set([path, path.replace(/^\/transfer\//, '/exchange/')])]

const toHandler =
  (row: Operation, deps: OperationRoutesDeps): Handler =>
  async (context, params) => {
    requireRight(context, row, deps.userAdminRole())
    const body = row.method === 'GET' ? undefined : await readJsonBody(context)
    const { query, signal } = context
    const headers: HeaderPair[] = []
    const caller = toCaller(context, deps, headers)
    return toJsonReply(200, await runOperation(row, deps, { params, query, body, signal, caller }), headers)
  }

function toCaller(context: RequestContext, deps: OperationRoutesDeps, headers: HeaderPair[]): Caller {
  const { identity, credential } = context.authenticated ?? ANONYMOUS
  return {
    name: identity.name,
    identity,
    right: findRight(identity, deps.userAdminRole()),
    sessionId: credential?.session?.id,
    isOwner: credential?.kind === SOCKET_OWNER,
    hasAccount: isAccount(identity) || hasAllRights(identity),
    peer: context.client.address,
    repeat: () => context.repeatChecks(),
    requirePassword: (current) => deps.requirePassword(context, current),
    requireCurrentPassword: (current) => deps.requireCurrentPassword(context, current),
    async reopenSession() {
      const account = await deps.directory.findAccount(identity.name ?? '')
      if (!account || !credential?.session?.cookie) return
      // the new session has proved what the one before had
      const hasFactor = deps.directory.hasProvedFactor(context.authenticated ?? ANONYMOUS, account)
      headers.push(...((await deps.reopen?.(context, account, { hasPassword: true, hasFactor })) ?? []))
    },
  }
}
