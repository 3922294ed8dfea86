import type { Exchange, Handler, Route } from '../../http/request-context.ts'
import type { Caller, ControlNeeds, Operation } from './operation.ts'
import { OPERATIONS } from './operations.ts'
import { readJsonBody, toJsonReply } from './wire.ts'

/** The segment under which a door hands requests over. */
export const CONTROL_SEGMENT = '_cardea'
export const CONTROL_PREFIX = `/${CONTROL_SEGMENT}/api`

export interface ApiNeeds extends ControlNeeds {
  /** Throws unless the credential of the request has proved the password of its user, or `current` is it. */
  requirePassword(exchange: Exchange, current: string | undefined): Promise<void>
}

export function controlRoutes(needs: ApiNeeds): readonly Route[] {
  const operations: readonly Operation<unknown>[] = Object.values(OPERATIONS)
  return [...Map.groupBy(operations, ({ path }) => path)].map(([path, rows]) => ({
    path: `${CONTROL_PREFIX}${path}`,
    methods: Object.fromEntries(rows.map((operation) => [operation.method, toHandler(operation, needs)])),
  }))
}

const toHandler =
  (operation: Operation<unknown>, needs: ApiNeeds): Handler =>
  async (exchange, params) => {
    const body = operation.method === 'GET' ? undefined : await readJsonBody(exchange)
    const { query, signal } = exchange
    const caller = toCaller(exchange, needs)
    return toJsonReply(200, await operation.run(needs, { params, query, body, signal, caller }))
  }

const toCaller = (exchange: Exchange, { requirePassword }: ApiNeeds): Caller => ({
  name: exchange.authenticated?.identity.name ?? null,
  requirePassword: (current) => requirePassword(exchange, current),
})
