/**
 * Everything that can be asked of Cardea by who manages it, as one table: the routes of the control API, and what the
 * command line calls when it has opened the store itself, are both read from here, so that they cannot differ.
 */
import { ADMINISTRATOR_OPERATIONS } from './administrators.ts'
import { EXCHANGE_OPERATIONS } from './exchange.ts'
import type { Operation } from './operation.ts'
import { SETTING_OPERATIONS } from './settings.ts'
import { USER_OPERATIONS } from './users.ts'

export const OPERATIONS = {
  health: { method: 'GET', path: '/health', run: ({ health }) => health() },
  ...USER_OPERATIONS,
  ...ADMINISTRATOR_OPERATIONS,
  ...EXCHANGE_OPERATIONS,
  ...SETTING_OPERATIONS,
} as const satisfies Record<string, Operation<unknown>>

export type OperationName = keyof typeof OPERATIONS
export type OperationResult<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]['run']>>
