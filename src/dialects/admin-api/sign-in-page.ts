/**
 * The sign-in page of browsers, at `/_cardea/sign-in` of every listener. It opens a session of the document door, whose
 * cookie browsers send to every port of the host: a proxy that forwards `/_cardea/` and asks `/_gate` needs no more. Its
 * endpoints are those of `/_cardea/account`, for pages of this origin only.
 */
import { requireNoAction } from '../../auth/required-actions.ts'
import { isClientError, Refusal } from '../../base/errors.ts'
import { SIGN_IN_PREFIX, SIGN_IN_SEGMENT } from '../../base/own-paths.ts'
import { type Account, isAccount } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import { type Authenticated, identityOf } from '../../directory/identity.ts'
import type { PresentedSession } from '../../directory/sessions/session.ts'
import { type Mount, READ_METHODS } from '../../http/dispatch.ts'
import type {
  ConfirmCredential,
  Handler,
  HeaderPair,
  Reply,
  RequestContext,
  RequestHead,
  RequestIdentity,
  Step,
} from '../../http/request-context.ts'
import { findNext } from '../sign-in-redirect.ts'
import {
  type AccountSignInDeps,
  accountSignInRoutes,
  type PasskeyRouteDeps,
  passkeyRoute,
  requireTrusted,
} from './account-sign-in.ts'
import { ADMIN_API_BASE } from './dialect.ts'
import type { ExternalRoutesDeps, ExternalSignIn } from './external-sign-in.ts'
import { toApiReply } from './json.ts'
import { renderPage } from './page.ts'

export interface SignInPageDeps extends Omit<AccountSignInDeps, 'origins'>, ExternalRoutesDeps {
  readonly external: ExternalSignIn
  readonly passkeys: PasskeyRouteDeps['passkeys']
  readonly directory: AccountSignInDeps['directory'] &
    ExternalRoutesDeps['directory'] &
    Pick<Directory, 'findPasswordTime'>
  /** The URL at which browsers reach this server; empty: not configured. */
  publicUrl(): string
  /** The name of this installation; empty: it has none. */
  instanceName(): string
  /** Options of modules for the page. */
  moduleOptions(): object
  /** With a placeholder for the options. */
  readonly page: string
  /** Reads the session cookie of the document door. */
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  readonly confirmCredential: ConfirmCredential
  readonly renewalHeaders: (context: RequestContext, reply: Reply) => readonly HeaderPair[]
  /** Makes a token of the door for the user of a session. Left out where the door accepts the session itself. */
  openToken?(account: Account, session: PresentedSession, context: RequestContext): Promise<string>
  /** Throws where a door requires a credential on every path. */
  readonly requireEntry: Step['run'] | undefined
}

export const mountSignInPage = (deps: SignInPageDeps): Mount => ({
  segment: SIGN_IN_SEGMENT,
  dialect: {
    ...ADMIN_API_BASE,
    name: 'sign-in',
    confirmCredential: deps.confirmCredential,
    steps: [
      { name: 'path', run: (context) => void context.path },
      { name: 'entry', run: (context) => deps.requireEntry?.(context) },
      {
        name: 'authenticate',
        authenticates: true,
        async run(context) {
          context.authenticated = await deps.authenticate(context)
          return undefined
        },
      },
    ],
    routes: [
      { path: SIGN_IN_PREFIX, allow: READ_METHODS, methods: { GET: (context) => showPage(context, deps) } },
      ...(deps.openToken
        ? [{ path: `${SIGN_IN_PREFIX}/token`, methods: { POST: toTokenHandler(deps.openToken) } }]
        : []),
      ...deps.external.routes(deps, (context) => showPage(context, deps)),
      ...accountSignInRoutes({ ...deps, origins: () => [] }, SIGN_IN_PREFIX),
      passkeyRoute({ passkeys: deps.passkeys, origins: () => [] }, SIGN_IN_PREFIX),
    ],
    defaultHeaders: (context, reply) => [
      ...ADMIN_API_BASE.defaultHeaders(context, reply),
      ...(context ? deps.renewalHeaders(context, reply) : []),
    ],
  },
})

function showPage(context: RequestHead & RequestIdentity, deps: SignInPageDeps): Reply {
  const { page, allowsSignUp, publicUrl, instanceName } = deps
  const { name, mustChangePassword = false, mustSetUpFactor = false } = identityOf(context)
  const door = { hasToken: deps.openToken !== undefined }
  const user = { name, mustChangePassword, mustSetUpFactor, canLink: canLinkAccount(context, deps), ...door }
  const names = { publicUrl: publicUrl(), instanceName: instanceName() }
  const server = { signUp: allowsSignUp(), ...deps.external.pageOptions(), ...names }
  const options = { ...user, ...readNext(context), ...server, ...deps.moduleOptions() }
  const reply = renderPage(page, { options: encodeURIComponent(JSON.stringify(options)) })
  return options.isNextWrong ? { ...reply, status: 400 } : reply
}

/** A user whom another server has signed in may have no password, without which no other account can be linked. */
function canLinkAccount(context: RequestIdentity, { directory }: SignInPageDeps): boolean {
  const identity = identityOf(context)
  const session = context.authenticated?.credential?.session
  if (!session || !isAccount(identity) || identity.isAdmin) return false
  return directory.findPasswordTime(session.id, identity) !== undefined
}

/** With a wrong address the page says so, and the user can still sign in. */
function readNext(context: RequestHead): { readonly next?: string | undefined; readonly isNextWrong?: true } {
  try {
    return { next: findNext(context) }
  } catch (error) {
    if (isClientError(error)) return { isNextWrong: true }
    throw error
  }
}

/** For the web interface of ArangoDB, which keeps a token in the page. */
const toTokenHandler =
  (openToken: NonNullable<SignInPageDeps['openToken']>): Handler =>
  async (context) => {
    requireTrusted(context, [])
    const identity = identityOf(context)
    const session = context.authenticated?.credential?.session
    if (!isAccount(identity) || !session) throw new Refusal('authentication_required')
    requireNoAction(identity)
    return toApiReply(200, { jwt: await openToken(identity, session, context) })
  }
