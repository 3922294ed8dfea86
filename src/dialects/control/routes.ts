import type { Handler, Route } from '../../door/exchange.ts'
import type { ControlNeeds, Operation } from './operation.ts'
import { OPERATIONS } from './operations.ts'
import { readJsonBody, toJsonReply } from './wire.ts'

/** The segment under which a door hands requests over. */
export const CONTROL_SEGMENT = '_cardea'
export const CONTROL_PREFIX = `/${CONTROL_SEGMENT}/api`

export function controlRoutes(needs: ControlNeeds): readonly Route[] {
  const operations: readonly Operation<unknown>[] = Object.values(OPERATIONS)
  return [...Map.groupBy(operations, ({ path }) => path)].map(([path, rows]) => ({
    path: `${CONTROL_PREFIX}${path}`,
    methods: Object.fromEntries(rows.map((operation) => [operation.method, toHandler(operation, needs)])),
  }))
}

const toHandler =
  (operation: Operation<unknown>, needs: ControlNeeds): Handler =>
  async (exchange, params) => {
    const body = operation.method === 'GET' ? undefined : await readJsonBody(exchange)
    const { query, signal } = exchange
    return toJsonReply(200, await operation.run(needs, { params, query, body, signal }))
  }
