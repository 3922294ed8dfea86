import type { AdministratorDirectory, UserEditor, UserReader } from '../../../directory/directory.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import type { Databases, GateSettings } from '../gate.ts'
import type { ServerMode } from '../mode.ts'

export interface UsersDeps {
  readonly directory: UserReader & UserEditor & AdministratorDirectory
  readonly databases: Databases
  settings(): GateSettings
  readonly mode: ServerMode
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Whether this is the password of that user; a failure counts for the lockout. */
  isPassword(name: string, password: string, context: RequestContext): Promise<boolean>
}
