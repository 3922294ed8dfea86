/** Accounts at other servers that sign in as users here. A module brings it; without one there are none. */
import type { DoorArrivals } from '../../auth/door-sign-in.ts'
import type { FindExternalToken } from '../../auth/external-token.ts'
import type { ApplicationSignIn } from '../../auth/session/session-service.ts'
import { badRequest } from '../../base/errors.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Handler, Route } from '../../http/request-context.ts'
import type { HealthCheck } from '../../observe/health.ts'
import type { OperationDeps } from './operation.ts'
import type { OperationRoutesDeps } from './operations.ts'
import type { ExternalAccounts } from './ports.ts'

export interface ExternalRoutesDeps
  extends Pick<OperationRoutesDeps, 'requireCurrentPassword'>,
    Pick<OperationDeps, 'statements' | 'clock' | 'events'> {
  readonly directory: Pick<
    Directory,
    'findUser' | 'isAdministrator' | 'linkAccount' | 'createWithAccount' | 'listLinked'
  >
  readonly limitArrivals: DoorArrivals
  readonly openSession: ApplicationSignIn['open']
}

export interface ExternalSignIn extends ExternalAccounts {
  /** Whose tokens are accepted. */
  readonly issuers: ReadonlySet<string>
  /** How a handler of a door reads their tokens; `undefined`: there is no issuer. */
  findToken(handler: string): FindExternalToken | undefined
  /** Options of the sign-in page, which is public. */
  pageOptions(): object
  /** Below the sign-in page, which `showPage` shows. */
  routes(deps: ExternalRoutesDeps, showPage: Handler): readonly Route[]
  readonly checks: readonly HealthCheck[]
}

export const NO_EXTERNAL_SIGN_IN: ExternalSignIn = {
  issuers: new Set(),
  findToken: () => undefined,
  async findAccount() {
    throw badRequest('No other server signs users in here.')
  },
  isOpenToBrowsers: () => false,
  pageOptions: () => ({}),
  routes: () => [],
  checks: [],
}
