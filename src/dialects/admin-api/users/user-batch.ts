// One change for several users. Each has its own outcome, by the rules of the operation for one user.
import { badRequest, Refusal } from '../../../base/errors.ts'
import { toApiErrorBody } from '../json.ts'
import { type ManagedCall, type OperationDeps, operation } from '../operation.ts'
import { listOf, object, oneOf, text } from '../schemas/schema.ts'
import { BATCH_REPORT, type BatchReportView } from '../schemas/users.ts'
import { USER_OPERATIONS } from './users.ts'

interface Action {
  readonly needsRoles?: true
  change(deps: OperationDeps, call: ManagedCall, roles: readonly string[]): unknown
}

const {
  'user.set-active': setActive,
  'user.sign-out': signOut,
  'user.set-roles': setRoles,
  'user.remove': remove,
} = USER_OPERATIONS

const ACTIONS = {
  disable: { change: (deps, call) => setActive.run(deps, { ...call, body: { active: false } }) },
  enable: { change: (deps, call) => setActive.run(deps, { ...call, body: { active: true } }) },
  signOut: { change: (deps, call) => signOut.run(deps, { ...call, body: {} }) },
  addRoles: { needsRoles: true, change: (deps, call, add) => setRoles.run(deps, { ...call, body: { add } }) },
  removeRoles: {
    needsRoles: true,
    change: (deps, call, roles) => setRoles.run(deps, { ...call, body: { remove: roles } }),
  },
  delete: { change: (deps, call) => remove.run(deps, { ...call, body: {} }) },
} as const satisfies Record<string, Action>

/** `Object.keys` loses the names of the table. */
const ACTION_NAMES = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]

const MAX_NAMES = 1000

export const USER_BATCH_OPERATIONS = {
  'user.batch': operation('POST /user-batch', 'userAdmin', {
    summary: 'Change several users in the same way',
    body: object({
      names: listOf(text(), 'At most 1000.'),
      action: oneOf(ACTION_NAMES),
      'roles?': listOf(text(), 'For addRoles and removeRoles.'),
    }),
    reply: BATCH_REPORT,
    async run(deps, call) {
      const { names, roles = [] } = call.body
      const action: Action = ACTIONS[call.body.action]
      if (names.length < 1 || names.length > MAX_NAMES) throw badRequest(`names must have 1 to ${MAX_NAMES} names.`)
      if ((action.needsRoles ?? false) !== roles.length > 0)
        throw badRequest('roles are needed for addRoles and removeRoles, and for no other action.')
      const outcomes: BatchOutcomeView[] = []
      for (const name of new Set(names)) {
        if (call.caller.signal?.aborted) break
        outcomes.push(await changeOne(name, call, (one) => action.change(deps, one, roles)))
      }
      return { outcomes }
    },
  }),
}

type BatchOutcomeView = BatchReportView['outcomes'][number]

async function changeOne(
  name: string,
  call: ManagedCall,
  change: (call: ManagedCall) => unknown,
): Promise<BatchOutcomeView> {
  if (name === call.requester?.name) return { name, ok: false, reason: 'Your own account is not changed with others.' }
  try {
    await change({ ...call, params: { name } })
    return { name, ok: true }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'store_unavailable') throw error
    return { name, ok: false, reason: toApiErrorBody(error).reason }
  }
}
