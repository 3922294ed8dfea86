/**
 * Sign-up, sign-in and sign-out for applications, beside the operations for the user's own account. A page sends JSON,
 * or a form with the query parameters `next` and `fail`: the paths to go to afterwards. `fail` gets the code of the error.
 */
import { type DoorSignUp, MAX_SIGN_IN_BYTES } from '../../auth/door-sign-in.ts'
import type { Passkeys } from '../../auth/passkey-sign-in.ts'
import { listActionHeaders } from '../../auth/required-actions.ts'
import type { RenewableSessions, TokenPair } from '../../auth/session/renewable-session.ts'
import { type ApplicationSignIn, toOpening } from '../../auth/session/session-service.ts'
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import { ACCOUNT_PREFIX } from '../../base/own-paths.ts'
import { idOf, isAccount } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import { type Identity, identityOf } from '../../directory/identity.ts'
import { findRedirect, isForm, readForm, redirectTo } from '../../http/form.ts'
import type {
  Handler,
  Methods,
  Reply,
  RequestBody,
  RequestContext,
  RequestHead,
  RequestIdentity,
  Route,
} from '../../http/request-context.ts'
import { CREDENTIALS, readApiBody, requireValid, toApiReply, toCredentials } from './json.ts'
import { CURRENT_PASSWORD } from './operation.ts'
import { flag, object, type Schema, type Static, text } from './schemas/schema.ts'

export interface AccountSignInDeps {
  readonly directory: Pick<Directory, 'createUser' | 'revokeSessions'>
  readonly signIn: ApplicationSignIn
  readonly signUp: DoorSignUp
  allowsSignUp(): boolean
  /** Throws unless the credential of the request has proved the password of its user, or `current` is that password. */
  requirePassword(context: RequestContext, current: string | undefined): Promise<void>
  /** Throws unless a passkey of the account has signed the response for this request. */
  requirePasskey(context: RequestContext, response: unknown, target: string): Promise<void>
  /** The origins of other sites whose pages may sign users up, in and out. */
  origins(): readonly string[]
}

/** Rows with this right accept every client. A credential that is not accepted leaves the request anonymous. */
export const OPEN = 'open'

export function accountSignInRoutes(deps: AccountSignInDeps, prefix = ACCOUNT_PREFIX): readonly Route[] {
  const rows: Readonly<Record<string, Methods>> = {
    '/session': { GET: (context) => showSession(context, deps) },
    '/sign-up': { POST: acceptPage(signUp, deps) },
    '/sign-in': { POST: acceptPage(signIn, deps) },
    '/sign-out': { POST: acceptPage(signOut, deps) },
  }
  return Object.entries(rows).map(([path, methods]) => ({ path: `${prefix}${path}`, right: OPEN, methods }))
}

function showSession(context: RequestIdentity, deps: AccountSignInDeps): Reply {
  const hasCookie = context.authenticated?.credential?.session?.cookie !== undefined
  return toApiReply(200, showUser(identityOf(context)), hasCookie ? [deps.signIn.timeoutHeader()] : [])
}

export const showIdentity = ({ name, roles, mustChangePassword, mustSetUpFactor }: Identity) =>
  name === null
    ? { name }
    : { name, roles, ...(mustChangePassword && { mustChangePassword }), ...(mustSetUpFactor && { mustSetUpFactor }) }

/** For applications, which may keep data of a user under the id. */
const showUser = (identity: Identity) => ({
  ...showIdentity(identity),
  ...(isAccount(identity) && { id: idOf(identity) }),
})

/** Accepts pages of this origin and of trusted ones, and redirects those that ask for it. */
const acceptPage =
  (handle: (context: RequestContext, deps: AccountSignInDeps) => Promise<Reply>, deps: AccountSignInDeps): Handler =>
  async (context) => {
    // both are checked first: a request with an invalid one changes nothing
    const next = findRedirect(context, 'next')
    const fail = findRedirect(context, 'fail')
    try {
      requireTrusted(context, deps.origins())
      return redirectTo(next, await handle(context, deps))
    } catch (error) {
      if (fail === undefined || !(error instanceof Refusal)) throw error
      return redirectTo(addError(fail, error.code), { status: 302, headers: [] })
    }
  }

/** A fragment comes after the query. */
function addError(address: string, code: string): string {
  const [place = '', ...fragment] = address.split('#')
  return [`${place}${place.includes('?') ? '&' : '?'}error=${code}`, ...fragment].join('#')
}

const NEW_USER = object({ name: text(), password: text() })
const SIGN_OUT = object({ 'everywhere?': flag(), ...CURRENT_PASSWORD })

async function signUp(context: RequestContext, deps: AccountSignInDeps): Promise<Reply> {
  if (!deps.allowsSignUp()) throw new Refusal('forbidden', { reason: 'Sign-up is closed: chttpd_auth.allow_sign_up.' })
  const { name, password } = await readFields(NEW_USER, context)
  const create = () => deps.directory.createUser({ name, password: { password } }, context)
  await deps.signUp(context, create)
  return toApiReply(201, { name })
}

export interface PasskeyRouteDeps {
  readonly passkeys: Pick<Passkeys, 'createSignInOptions'>
  origins(): readonly string[]
}

/** What `navigator.credentials.get` reads. Its result is sent to `/sign-in` or `/token`. */
export const passkeyRoute = ({ passkeys, origins }: PasskeyRouteDeps, prefix = ACCOUNT_PREFIX): Route => ({
  path: `${prefix}/passkey-options`,
  right: OPEN,
  methods: {
    POST: (context) => {
      requireTrusted(context, origins())
      return toApiReply(200, { options: passkeys.createSignInOptions() })
    },
  },
})

async function signIn(context: RequestContext, deps: AccountSignInDeps): Promise<Reply> {
  const given = toCredentials(await readFields(CREDENTIALS, context))
  const account = await deps.signIn.require(given, context)
  const { header } = await deps.signIn.open(account, context, toOpening(account, given))
  const headers = [header, deps.signIn.timeoutHeader(), ...listActionHeaders(account)]
  return toApiReply(200, showUser(account), headers)
}

async function signOut(context: RequestContext, deps: AccountSignInDeps): Promise<Reply> {
  const { directory, signIn } = deps
  const { everywhere = false, ...proof } = await readFields(SIGN_OUT, context)
  if (everywhere) {
    const { name } = identityOf(context)
    if (name === null) throw new Refusal('authentication_required')
    await requireProof(context, proof, deps)
    await directory.revokeSessions(name, context, context.authenticated?.credential?.session?.id)
  }
  await signIn.endCarried(context)
  return toApiReply(200, { name: null }, [signIn.clear(context)])
}

async function requireProof(
  context: RequestContext,
  { current_password: password, current_passkey: passkey }: Static<typeof SIGN_OUT>,
  deps: AccountSignInDeps,
): Promise<void> {
  if (passkey) await deps.requirePasskey(context, passkey, 'POST /account/sign-out')
  else await deps.requirePassword(context, password)
}

/** What the fields of a form mean where the schema asks for a flag; `on` is a checkbox. */
const FLAGS: Readonly<Record<string, boolean>> = { true: true, on: true, false: false }

/** A form may have fields of its own, for example the name of a button. */
async function readFields<T>(schema: Schema<T>, context: RequestHead & RequestBody): Promise<T> {
  if (!isForm(context.header('content-type')))
    return requireValid(schema, (await readApiBody(context, MAX_SIGN_IN_BYTES)) ?? {})
  const fields = await readForm(context, MAX_SIGN_IN_BYTES)
  const known = Object.entries(schema.properties ?? {}).filter(([name]) => fields.has(name))
  const toValue = (text = '', { type }: Schema) => (type === 'boolean' ? (FLAGS[text] ?? text) : text)
  return requireValid(schema, Object.fromEntries(known.map(([name, each]) => [name, toValue(fields.get(name), each)])))
}

/** A page of an origin that is not trusted must not sign its visitor up, in or out, or use a browser's credential. */
export function requireTrusted(context: RequestHead & RequestIdentity, origins: readonly string[]): void {
  if (!isCrossOrigin(context)) return
  const origin = context.header('origin')
  if (origin === undefined || origin === 'null' || !origins.includes(origin)) throw new Refusal('cross_origin')
}

const RENEWAL = object({ renewalToken: text() })

/**
 * Sessions without a cookie, at both doors: a short token, and a renewal token that is replaced at each use. For pages of
 * other sites, which must be trusted by the door, and for mobile apps. `origins`: those of these sites.
 */
export function accountTokenRoutes(sessions: RenewableSessions, origins: () => readonly string[]): readonly Route[] {
  const accept =
    <T>(schema: Schema<T>, run: (given: T, context: RequestContext) => Promise<Reply>): Handler =>
    async (context) => {
      requireTrusted(context, origins())
      return run(requireValid(schema, await readApiBody(context, MAX_SIGN_IN_BYTES)), context)
    }
  const signIn = accept(CREDENTIALS, async (given, context) =>
    toReply(await sessions.open(toCredentials(given), context)),
  )
  const renew = accept(RENEWAL, async ({ renewalToken }) => toReply(await sessions.renew(renewalToken)))
  const signOut = accept(RENEWAL, async ({ renewalToken }) => {
    await sessions.end(renewalToken)
    return toApiReply(200, { name: null })
  })
  return [
    { path: `${ACCOUNT_PREFIX}/token`, right: OPEN, methods: { POST: signIn, DELETE: signOut } },
    { path: `${ACCOUNT_PREFIX}/token/renew`, right: OPEN, methods: { POST: renew } },
  ]
}

const toReply = ({ account, ...tokens }: TokenPair): Reply =>
  toApiReply(200, { ...tokens, ...showUser(account) }, listActionHeaders(account))
