import type { Handler, RequestContext, Route } from '../../http/request-context.ts'
import type { Caller, ControlDeps, Operation } from './operation.ts'
import { OPERATIONS } from './operations.ts'
import { readJsonBody, toJsonReply } from './wire.ts'

/** The segment under which a door hands requests over. */
export const CONTROL_SEGMENT = '_cardea'
export const CONTROL_PREFIX = `/${CONTROL_SEGMENT}/api`

export interface ApiDeps extends ControlDeps {
  /** Throws unless the credential of the request has proved the password of its user, or `current` is it. */
  requirePassword(context: RequestContext, current: string | undefined): Promise<void>
}

export function controlRoutes(deps: ApiDeps): readonly Route[] {
  const operations: readonly Operation<unknown>[] = Object.values(OPERATIONS)
  return [...Map.groupBy(operations, ({ path }) => path)].map(([path, rows]) => ({
    path: `${CONTROL_PREFIX}${path}`,
    methods: Object.fromEntries(rows.map((operation) => [operation.method, toHandler(operation, deps)])),
  }))
}

const toHandler =
  (operation: Operation<unknown>, deps: ApiDeps): Handler =>
  async (context, params) => {
    const body = operation.method === 'GET' ? undefined : await readJsonBody(context)
    const { query, signal } = context
    const caller = toCaller(context, deps)
    return toJsonReply(200, await operation.run(deps, { params, query, body, signal, caller }))
  }

const toCaller = (context: RequestContext, { requirePassword }: ApiDeps): Caller => ({
  name: context.authenticated?.identity.name ?? null,
  requirePassword: (current) => requirePassword(context, current),
})
