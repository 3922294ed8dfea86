/**
 * The own account of a user, for applications: the operations of the admin API for it, sign-up, sign-in and sign-out,
 * below `/_cardea/account` at both doors, and at any path of a program that uses the library. Unlike the admin API,
 * which reaches every user, it accepts every credential of its door, the session cookie included. A page of another
 * origin may use it if the door trusts that origin.
 */
import type { RenewableSessions } from '../../auth/session/renewable-session.ts'
import { isClientError } from '../../base/errors.ts'
import { relay } from '../../base/relay-needed.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { Mount } from '../../http/dispatch.ts'
import type { ConfirmCredential, Dialect, HeaderPair, Reply, RequestContext, Step } from '../../http/request-context.ts'
import { ACCOUNT_SEGMENT, OWN_SEGMENT } from '../own-paths.ts'
import {
  type AccountSignInDeps,
  accountSignInRoutes,
  accountTokenRoutes,
  OPEN,
  requireTrusted,
} from './account-sign-in.ts'
import { ADMIN_API_BASE } from './dialect.ts'
import { accountRoutes, type OperationRoutesDeps } from './operations.ts'

export interface AccountApiOptions extends OperationRoutesDeps {
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  readonly confirmCredential: ConfirmCredential
  readonly cors: DoorCors
  /** The headers that carry on the session of the request. Left out where the door has no session cookie. */
  readonly renewalHeaders?: (context: RequestContext, reply: Reply) => readonly HeaderPair[]
  /** Left out for routes in another program: tokens are for the doors. */
  readonly tokens?: RenewableSessions | undefined
  /** Left out where no application can sign users in with a cookie. */
  readonly signIn?: Omit<AccountSignInDeps, 'directory' | 'origins'>
}

/** The rules of the door for pages of other origins. */
interface DoorCors {
  /** The origins it trusts, letter by letter. `*` is not enough for a change with the credential of a browser. */
  origins(): readonly string[]
  /** Left out where the door itself answers preflights. */
  answerPreflight?(context: RequestContext): Reply | undefined
  headers(context: RequestContext, reply: Reply): readonly HeaderPair[]
}

export const mountAccountApi = ({
  cors,
  signIn,
  tokens,
  renewalHeaders,
  confirmCredential,
  ...options
}: AccountApiOptions): Mount => ({
  segment: ACCOUNT_SEGMENT,
  dialect: {
    ...ADMIN_API_BASE,
    name: 'account',
    steps: accountSteps(options, cors),
    routes: [
      ...accountRoutes(options),
      ...(tokens ? accountTokenRoutes(tokens, cors.origins) : []),
      ...(signIn ? accountSignInRoutes({ ...options, ...signIn, origins: cors.origins }) : []),
    ],
    confirmCredential,
    defaultHeaders: (context, reply) => [
      ...ADMIN_API_BASE.defaultHeaders(context, reply),
      ...(context ? cors.headers(context, reply) : []),
      ...((context && renewalHeaders?.(context, reply)) ?? []),
    ],
  },
})

/** In a worker thread, which leaves all these paths to the main thread: what its own errors need. */
export const mountRelayedPaths = (cors: Pick<DoorCors, 'headers'>): readonly Mount[] => {
  const dialect: Dialect = { ...ADMIN_API_BASE, name: 'relay', steps: [{ name: 'relay', run: relay }], routes: [] }
  const defaultHeaders: Dialect['defaultHeaders'] = (context, reply) => [
    ...dialect.defaultHeaders(context, reply),
    ...(context ? cors.headers(context, reply) : []),
  ]
  return [
    { segment: ACCOUNT_SEGMENT, dialect: { ...dialect, defaultHeaders } },
    { segment: OWN_SEGMENT, dialect },
  ]
}

const accountSteps = ({ authenticate }: Pick<AccountApiOptions, 'authenticate'>, cors: DoorCors): readonly Step[] => [
  { name: 'path', run: (context) => void context.path },
  { name: 'preflight', run: (context) => cors.answerPreflight?.(context) },
  {
    name: 'authenticate',
    authenticates: true,
    async run(context) {
      try {
        context.authenticated = await authenticate(context)
      } catch (error) {
        if (context.match?.route.right !== OPEN || !isClientError(error)) throw error
        context.authenticated = ANONYMOUS
      }
      return undefined
    },
  },
  { name: 'origin', run: (context) => requireTrustedOrigin(context, cors) },
]

/** No page of another origin changes an account with a credential that the browser adds by itself. */
function requireTrustedOrigin(context: RequestContext, { origins }: DoorCors): undefined {
  const sent = context.authenticated?.credential?.kind.sentByBrowser
  if (sent !== undefined && context.method !== 'GET' && context.method !== 'HEAD') requireTrusted(context, origins())
}
