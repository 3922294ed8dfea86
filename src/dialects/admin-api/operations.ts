/**
 * Every operation of the admin API, as one table. The routes of the API are read from it, and the command line calls the
 * same rows when it has opened the store itself, so the two cannot differ.
 */
import { ANONYMOUS } from '../../directory/identity.ts'
import type { Handler, RequestContext, Route } from '../../http/request-context.ts'
import { ACCOUNT_OPERATIONS } from './account.ts'
import { ADMINISTRATOR_OPERATIONS } from './administrators.ts'
import { readJsonBody, toJsonReply } from './json.ts'
import { NODE_OPERATIONS } from './nodes.ts'
import type { Caller, Operation, OperationDeps } from './operation.ts'
import { SETTING_OPERATIONS } from './options.ts'
import { OVERVIEW_OPERATIONS } from './overview.ts'
import { findRight, requireRight } from './rights.ts'
import { SESSION_OPERATIONS } from './sessions.ts'
import { TRANSFER_OPERATIONS } from './transfer.ts'
import { USER_DETAIL_OPERATIONS } from './user-details.ts'
import { USER_OPERATIONS } from './users.ts'

export const OPERATIONS = {
  health: { method: 'GET', path: '/health', run: ({ health }) => health() },
  reload: { method: 'POST', path: '/reload', run: ({ reload }) => reload() },
  ...ACCOUNT_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...USER_OPERATIONS,
  ...USER_DETAIL_OPERATIONS,
  ...ADMINISTRATOR_OPERATIONS,
  ...TRANSFER_OPERATIONS,
  ...SETTING_OPERATIONS,
  ...OVERVIEW_OPERATIONS,
  ...NODE_OPERATIONS,
} as const satisfies Record<string, Operation<unknown>>

export type OperationName = keyof typeof OPERATIONS
export type OperationResult<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]['run']>>

/** What authenticates the owner of the process, at its socket. */
export const OWNER_HANDLER = 'socket'

/** The first segment of all paths of Cardea itself. */
export const OWN_SEGMENT = '_cardea'
export const API_PREFIX = `/${OWN_SEGMENT}/api`

/** The first segments below the API of operations that need no credential. */
export const OPEN_SEGMENTS: ReadonlySet<string | undefined> = new Set(
  Object.values<Operation<unknown>>(OPERATIONS)
    .filter(({ allowed }) => allowed === 'anonymous')
    .map(({ path }) => path.split('/')[1]),
)

export interface OperationRoutesDeps extends OperationDeps {
  /** Throws unless the credential of the request has proved the password of its user, or `current` is that password. */
  requirePassword(context: RequestContext, current: string | undefined): Promise<void>
}

export function operationRoutes(deps: OperationRoutesDeps): readonly Route[] {
  const operations: readonly Operation<unknown>[] = Object.values(OPERATIONS)
  return [...Map.groupBy(operations, ({ path }) => path)].map(([path, rows]) => ({
    path: `${API_PREFIX}${path}`,
    methods: Object.fromEntries(rows.map((operation) => [operation.method, toHandler(operation, deps)])),
  }))
}

const toHandler =
  (operation: Operation<unknown>, deps: OperationRoutesDeps): Handler =>
  async (context, params) => {
    requireRight(context, operation, deps.userAdminRole())
    const body = operation.method === 'GET' ? undefined : await readJsonBody(context)
    const { query, signal } = context
    const caller = toCaller(context, deps)
    return toJsonReply(200, await operation.run(deps, { params, query, body, signal, caller }))
  }

function toCaller(context: RequestContext, { requirePassword, userAdminRole }: OperationRoutesDeps): Caller {
  const { identity, by, session, bearer } = context.authenticated ?? ANONYMOUS
  return {
    name: identity.name,
    identity,
    right: findRight(identity, userAdminRole()),
    sessionId: session?.id ?? bearer?.session?.id,
    isOwner: by === OWNER_HANDLER,
    requirePassword: (current) => requirePassword(context, current),
  }
}
