/**
 * The own account of a user, for applications: the operations of the admin API for it, below `/_cardea/account` at both
 * doors. Unlike the admin API, which reaches every user, it accepts every credential of its door, the session cookie
 * included. A page of another origin may use it if the door trusts that origin.
 */
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { Mount } from '../../http/dispatch.ts'
import type { Dialect, HeaderPair, Reply, RequestContext, Step } from '../../http/request-context.ts'
import { ACCOUNT_SEGMENT } from '../own-paths.ts'
import { ADMIN_API_BASE, SECURITY_HEADERS } from './dialect.ts'
import { accountRoutes, type OperationRoutesDeps } from './operations.ts'

export interface AccountApiOptions extends OperationRoutesDeps {
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  readonly confirmCredential: NonNullable<Dialect['confirmCredential']>
  readonly door: AccountDoor
}

/** The rules of the door for pages of other origins. */
export interface AccountDoor {
  /** The origins it trusts, letter by letter. `*` is not enough for a change with the credential of a browser. */
  origins(): readonly string[]
  /** Left out where the door itself answers preflights. */
  answerPreflight?(context: RequestContext): Reply | undefined
  /** CORS, and the renewed cookie of the session. */
  headers(context: RequestContext, reply: Reply): readonly HeaderPair[]
}

export const mountAccountApi = ({ door, confirmCredential, ...options }: AccountApiOptions): Mount => ({
  segment: ACCOUNT_SEGMENT,
  dialect: {
    ...ADMIN_API_BASE,
    name: 'account',
    steps: accountSteps(options, door),
    routes: accountRoutes(options),
    confirmCredential,
    defaultHeaders: (context, reply) => [
      ...SECURITY_HEADERS,
      ...(context ? [[ADMIN_API_BASE.requestIdHeader, context.id] as const, ...door.headers(context, reply)] : []),
    ],
  },
})

const accountSteps = (
  { authenticate }: Pick<AccountApiOptions, 'authenticate'>,
  door: AccountDoor,
): readonly Step[] => [
  { name: 'path', run: (context) => void context.path },
  { name: 'preflight', run: (context) => door.answerPreflight?.(context) },
  {
    name: 'authenticate',
    async run(context) {
      context.authenticated = await authenticate(context)
      return undefined
    },
  },
  { name: 'origin', run: (context) => requireTrustedOrigin(context, door) },
]

/** No page of another origin changes an account with a credential that the browser adds by itself. */
function requireTrustedOrigin(context: RequestContext, { origins }: AccountDoor): undefined {
  const sent = context.authenticated?.credential?.kind.sentByBrowser
  if (sent === undefined || context.method === 'GET' || context.method === 'HEAD' || !isCrossOrigin(context)) return
  const origin = context.header('origin')
  if (origin === undefined || origin === 'null' || !origins().includes(origin)) throw new Refusal('cross_origin')
}
