// What the command line knows of the control API.
export type { ShownAdministrator } from '../dialects/control/administrators.ts'
export { OPERATIONS, type OperationName, type OperationResult } from '../dialects/control/operations.ts'
export { CONTROL_PREFIX } from '../dialects/control/routes.ts'
export type { ShownUser } from '../dialects/control/shown-user.ts'
