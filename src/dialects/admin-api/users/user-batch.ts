// One change for several users. Each has its own outcome, by the rules of the operation for one user.
import { Refusal } from '../../../base/errors.ts'
import { toErrorBody } from '../errors.ts'
import { findArgument, readMembers, requireArgument, requireText, TEXT_LIST } from '../json.ts'
import type { Call, Operation, OperationDeps } from '../operation.ts'
import { USER_OPERATIONS } from './users.ts'

export interface BatchOutcome {
  readonly name: string
  readonly ok: boolean
  /** Why the user was not changed. */
  readonly reason?: string
}

interface Action {
  readonly operation: Operation<unknown>
  readonly needsRoles?: true
  toBody(roles: readonly string[]): unknown
}

const ACTIONS = {
  disable: { operation: USER_OPERATIONS['user.set-active'], toBody: () => ({ active: false }) },
  enable: { operation: USER_OPERATIONS['user.set-active'], toBody: () => ({ active: true }) },
  signOut: { operation: USER_OPERATIONS['user.sign-out'], toBody: () => undefined },
  addRoles: { operation: USER_OPERATIONS['user.set-roles'], needsRoles: true, toBody: (add) => ({ add }) },
  removeRoles: { operation: USER_OPERATIONS['user.set-roles'], needsRoles: true, toBody: (remove) => ({ remove }) },
  delete: { operation: USER_OPERATIONS['user.remove'], toBody: () => undefined },
} as const satisfies Record<string, Action>

export const BATCH_ACTIONS = Object.keys(ACTIONS)

const MAX_NAMES = 1000

export const USER_BATCH_OPERATIONS = {
  'user.batch': {
    method: 'POST',
    path: '/user-batch',
    allowed: 'userAdmin',
    async run(deps, call): Promise<{ readonly outcomes: readonly BatchOutcome[] }> {
      const { names, operation, body } = readBatch(call.body)
      const outcomes: BatchOutcome[] = []
      for (const name of names) {
        if (call.signal?.aborted) break
        outcomes.push(await changeOne(deps, { ...call, params: { name }, body }, operation))
      }
      return { outcomes }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

const bad = (about: string): Refusal => new Refusal('bad_request', { about })

function readBatch(given: unknown) {
  const members = readMembers(given, ['names', 'action', 'roles'])
  const names = requireArgument(members, 'names', TEXT_LIST)
  if (names.length < 1 || names.length > MAX_NAMES) throw bad(`names must have 1 to ${MAX_NAMES} names.`)
  const roles = findArgument(members, 'roles', TEXT_LIST) ?? []
  const action = new Map<string, Action>(Object.entries(ACTIONS)).get(requireText(members, 'action'))
  if (!action) throw bad(`action must be one of ${BATCH_ACTIONS.join(', ')}.`)
  if ((action.needsRoles ?? false) !== roles.length > 0)
    throw bad('roles are needed for addRoles and removeRoles, and for no other action.')
  return { names: [...new Set(names)], operation: action.operation, body: action.toBody(roles) }
}

async function changeOne(deps: OperationDeps, call: Call, operation: Operation<unknown>): Promise<BatchOutcome> {
  const name = call.params['name'] ?? ''
  if (name === call.caller?.name) return { name, ok: false, reason: 'Your own account is not changed with others.' }
  try {
    await operation.run(deps, call)
    return { name, ok: true }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'store_unavailable') throw error
    return { name, ok: false, reason: toErrorBody(error).reason }
  }
}
