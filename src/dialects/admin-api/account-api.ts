/**
 * The own account of a user, for applications: the operations of the admin API for it, sign-up, sign-in and sign-out,
 * below `/_cardea/account` at both doors, and at any path of a program that uses the library. Unlike the admin API,
 * which reaches every user, it accepts every credential of its door, the session cookie included. A page of another
 * origin may use it if the door trusts that origin.
 */
import type { RenewableSessions } from '../../auth/session/renewable-session.ts'
import { isClientError } from '../../base/errors.ts'
import { ACCOUNT_SEGMENT } from '../../base/own-paths.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { Mount } from '../../http/dispatch.ts'
import type {
  ConfirmCredential,
  HeaderPair,
  Reply,
  RequestContext,
  RequestHead,
  RequestIdentity,
  Step,
} from '../../http/request-context.ts'
import {
  type AccountSignInDeps,
  accountSignInRoutes,
  accountTokenRoutes,
  OPEN,
  type PasskeyRouteDeps,
  passkeyRoute,
  requireTrusted,
} from './account-sign-in.ts'
import { ADMIN_API_BASE } from './dialect.ts'
import { accountRoutes, type OperationRoutesDeps } from './operations.ts'

export interface AccountApiOptions extends OperationRoutesDeps {
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  readonly confirmCredential: ConfirmCredential
  readonly cors: DoorCors
  readonly passkeys: PasskeyRouteDeps['passkeys']
  /** The headers that carry on the session of the request. Left out where the door has no session cookie. */
  readonly renewalHeaders?: (context: RequestContext, reply: Reply) => readonly HeaderPair[]
  /** Left out for routes in another program: tokens are for the doors. */
  readonly tokens?: RenewableSessions | undefined
  /** Left out where no application can sign users in with a cookie. */
  readonly signIn?: Omit<AccountSignInDeps, 'directory' | 'origins' | 'requirePassword' | 'requirePasskey'>
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
  passkeys,
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
      passkeyRoute({ passkeys, origins: cors.origins }),
      ...(tokens ? accountTokenRoutes(tokens, cors.origins) : []),
      ...(signIn
        ? accountSignInRoutes({ ...options, ...signIn, directory: options.core.directory, origins: cors.origins })
        : []),
    ],
    confirmCredential,
    defaultHeaders: (context, reply) => [
      ...ADMIN_API_BASE.defaultHeaders(context, reply),
      ...(context ? cors.headers(context, reply) : []),
      ...((context && renewalHeaders?.(context, reply)) ?? []),
    ],
  },
})

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
function requireTrustedOrigin(context: RequestHead & RequestIdentity, { origins }: DoorCors): undefined {
  const sent = context.authenticated?.credential?.kind.sentByBrowser
  if (sent !== undefined && context.method !== 'GET' && context.method !== 'HEAD') requireTrusted(context, origins())
}
