/**
 * The operations of the admin API that the core has. Modules add theirs, and all together are one table. The routes of the
 * API are read from it, and the command line calls the same rows when it has opened the store itself, so the two cannot
 * differ.
 */
import type { DoorSignUp } from '../../auth/door-sign-in.ts'
import { OPENED_BY_PASSKEY } from '../../auth/session/session-service.ts'
import { SOCKET_OWNER } from '../../auth/socket-owner.ts'
import { API_PREFIX, OWN_PREFIX } from '../../base/own-paths.ts'
import { type Account, isAccount } from '../../directory/account.ts'
import { ANONYMOUS, hasAllRights } from '../../directory/identity.ts'
import { isOfPasskey } from '../../directory/password-proof.ts'
import type { SessionOpening } from '../../directory/sessions/session.ts'
import type { Handler, HeaderPair, RequestContext, Route } from '../../http/request-context.ts'
import type { EventTable } from '../../observe/security-event-table.ts'
import { OPEN } from './account-sign-in.ts'
import { readApiBody, toApiReply } from './json.ts'
import {
  type Operation,
  type OperationDeps,
  operation,
  type Requester,
  requireServer,
  runOperation,
} from './operation.ts'
import { ACCESS, findLowest, findRight, type Right, requireRight } from './rights.ts'
import { flag, object, type Static } from './schemas/schema.ts'
import { HEALTH, RELOAD_RESULT } from './schemas/system.ts'

import { auditOperations } from './system/audit.ts'
import { DATABASE_OPERATIONS } from './system/databases.ts'
import { SETTING_OPERATIONS } from './system/options.ts'
import { NODE_OPERATIONS, OVERVIEW_OPERATIONS } from './system/overview.ts'
import { SECRET_OPERATIONS } from './system/secrets.ts'
import { ACCOUNT_OPERATIONS } from './users/account.ts'
import { ACCOUNT_EXPORT_OPERATIONS } from './users/account-export.ts'
import { ACCOUNT_TOKEN_OPERATIONS } from './users/account-tokens.ts'
import { ADMINISTRATOR_OPERATIONS } from './users/administrators.ts'
import { ROLE_OPERATIONS } from './users/roles.ts'
import { SESSION_OPERATIONS } from './users/sessions.ts'
import { TRANSFER_OPERATIONS } from './users/transfer.ts'
import { USER_BATCH_OPERATIONS } from './users/user-batch.ts'
import { USER_ACCESS_OPERATIONS, USER_DETAIL_OPERATIONS } from './users/user-details.ts'
import { USER_OPERATIONS } from './users/users.ts'

export const createCoreOperations = (events: EventTable) => ({
  health: operation('GET /health', 'administrator', {
    summary: 'Show the state of this node',
    reply: HEALTH,
    run: (deps) => requireServer(deps).health(),
  }),
  reload: operation('POST /reload', 'administrator', {
    summary: 'Read the whole configuration again',
    body: object({ 'rolling?': flag('Also replace the processes that serve, one by one, without a failed request.') }),
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
  ...ACCOUNT_EXPORT_OPERATIONS,
  ...ACCOUNT_TOKEN_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...ROLE_OPERATIONS,
  ...USER_BATCH_OPERATIONS,
  ...USER_ACCESS_OPERATIONS,
  ...USER_OPERATIONS,
  ...USER_DETAIL_OPERATIONS,
  ...ADMINISTRATOR_OPERATIONS,
  ...TRANSFER_OPERATIONS,
  ...SETTING_OPERATIONS,
  ...OVERVIEW_OPERATIONS,
  ...DATABASE_OPERATIONS,
  ...NODE_OPERATIONS,
  ...auditOperations(events),
  ...SECRET_OPERATIONS,
})

type CoreOperations = ReturnType<typeof createCoreOperations>

/** All operations: each module extends this interface with its own. */
export interface OperationRows extends CoreOperations {}

export type OperationName = keyof OperationRows
/** The table itself is `OPERATIONS` in `src/modules.ts`. */
export type OperationTable = { readonly [N in OperationName]: OperationRows[N] }
export type OperationResult<N extends OperationName> = Static<OperationTable[N]['reply']>

const groupBySegment = (operations: OperationTable): ReadonlyMap<string | undefined, readonly Operation[]> =>
  Map.groupBy(Object.values<Operation>(operations), ({ path }) => path.split('/')[1])

/** The lowest right of all operations with each first path segment, for its other paths too. */
export const listSegmentRights = (operations: OperationTable): ReadonlyMap<string | undefined, Right> =>
  new Map(
    [...groupBySegment(operations)].map(([segment, rows]) => [
      segment,
      findLowest(rows.map(({ allowed }) => allowed).filter((right) => right !== 'anonymous')),
    ]),
  )

export interface OperationRoutesDeps {
  readonly core: OperationDeps
  readonly operations: OperationTable
  /** Throws unless the credential of the request has proved the password of its user, or `current` is that password. */
  requirePassword(context: RequestContext, current: string | undefined): Promise<void>
  /** Like `requirePassword`, but a session always needs `current`. */
  requireCurrentPassword(context: RequestContext, current: string | undefined): Promise<void>
  /** Creates a user within the limits of sign-up. */
  readonly signUp: DoorSignUp
  /** Throws unless a passkey of the account has signed the response for this request. */
  requirePasskey(context: RequestContext, response: unknown, target: string): Promise<void>
  /**
   * Opens another session for an account whose sessions have ended with a new password, if the request came with a
   * session cookie. Returns the headers of the new one. Left out where no browser can connect.
   */
  reopen?(context: RequestContext, account: Account, opening: SessionOpening): Promise<readonly HeaderPair[]>
}

export const operationRoutes = (deps: OperationRoutesDeps): readonly Route[] =>
  toRoutes(Object.values(deps.operations), { prefix: API_PREFIX, open: ACCESS.anonymous }, deps)

/** The operations for the user's own account, beside the admin API and not below it. */
export const accountRoutes = (deps: OperationRoutesDeps): readonly Route[] =>
  toRoutes(groupBySegment(deps.operations).get('account') ?? [], { prefix: OWN_PREFIX, open: OPEN }, deps)

/** `open`: the right of paths whose operations are all for anonymous clients. */
const toRoutes = (
  operations: readonly Operation[],
  { prefix, open }: { readonly prefix: string; readonly open: unknown },
  deps: OperationRoutesDeps,
): readonly Route[] =>
  [...Map.groupBy(operations, ({ path }) => path)].flatMap(([path, rows]) => {
    const methods = Object.fromEntries(rows.map((row) => [row.method, toHandler(row, deps)]))
    const isOpen = rows.every(({ allowed }) => allowed === 'anonymous')
    return listNames(path).map((name) => ({ path: `${prefix}${name}`, methods, ...(isOpen && { right: open }) }))
  })

/** The path, and its former name if it has one, which programs may still use. */
const listNames = (path: string): readonly string[] => [...new Set([path, path.replace(/^\/transfer\//, '/exchange/')])]

const toHandler =
  (row: Operation, deps: OperationRoutesDeps): Handler =>
  async (context, params) => {
    requireRight(context, row, deps.core.userAdminRole())
    const body = row.method === 'GET' ? undefined : await readApiBody(context)
    const headers: HeaderPair[] = []
    const requester = toRequester(context, deps, headers)
    const call = { params, query: context.query, body, caller: context, requester }
    return toApiReply(200, await runOperation(row, deps.core, call), headers)
  }

function toRequester(context: RequestContext, deps: OperationRoutesDeps, headers: HeaderPair[]): Requester {
  const { identity, credential } = context.authenticated ?? ANONYMOUS
  let hasSigned = false
  return {
    name: identity.name,
    identity,
    right: findRight(identity, deps.core.userAdminRole()),
    client: context.client,
    sessionId: credential?.session?.id,
    isOwner: credential?.kind === SOCKET_OWNER,
    hasAccount: isAccount(identity) || hasAllRights(identity),
    requirePassword: (current) => deps.requirePassword(context, current),
    requireCurrentPassword: (current) => deps.requireCurrentPassword(context, current),
    signUp: (create) => deps.signUp(context, create),
    async requirePasskey(response, target) {
      await deps.requirePasskey(context, response, target)
      hasSigned = true
    },
    hasUsedPasskey: () => hasSigned || isOfPasskey(context.authenticated ?? ANONYMOUS, deps.core),
    async reopenSession() {
      const { directory } = deps.core
      const account = await directory.findAccount(identity.name ?? '')
      if (!account || !credential?.session?.cookie) return
      // the new session has proved what the one before had
      const hasFactor = directory.hasProvedFactor(context.authenticated ?? ANONYMOUS, account)
      const opening = hasSigned ? OPENED_BY_PASSKEY : { hasPassword: true, hasFactor }
      headers.push(...((await deps.reopen?.(context, account, opening)) ?? []))
    },
  }
}
