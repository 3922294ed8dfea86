/**
 * Sign-up, sign-in and sign-out for applications, beside the operations for the user's own account. A page sends JSON,
 * or a form with the query parameters `next` and `fail`: the paths to go to afterwards. `fail` gets the code of the error.
 */
import { type DoorSignUp, MAX_SIGN_IN_BYTES } from '../../auth/door-sign-in.ts'
import { listActionHeaders } from '../../auth/required-actions.ts'
import type { RenewableSessions, TokenPair } from '../../auth/session/renewable-session.ts'
import type { ApplicationSignIn } from '../../auth/session/session-service.ts'
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import { idOf, isAccount } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import { type Identity, identityOf } from '../../directory/identity.ts'
import { ANY_USER } from '../../directory/users/user-operations.ts'
import { findRedirect, isForm, readForm, redirectTo } from '../../http/form.ts'
import type { Handler, Methods, Reply, RequestContext, Route } from '../../http/request-context.ts'
import { ACCOUNT_PREFIX } from '../own-paths.ts'
import { readJsonBody, requireValid, toJsonReply } from './json.ts'
import { flag, object, type Schema, text } from './schemas/schema.ts'

export interface AccountSignInDeps {
  readonly directory: Pick<Directory, 'createUser' | 'revokeSessions'>
  readonly signIn: ApplicationSignIn
  readonly signUp: DoorSignUp
  allowsSignUp(): boolean
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

function showSession(context: RequestContext, deps: AccountSignInDeps): Reply {
  const hasCookie = context.authenticated?.credential?.session?.cookie !== undefined
  return toJsonReply(200, showUser(identityOf(context)), hasCookie ? [deps.signIn.timeoutHeader()] : [])
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

const CREDENTIALS = object({ name: text(), password: text(), 'code?': text('A one-time code.') })
const NEW_USER = object({ name: text(), password: text() })
const SIGN_OUT = object({ 'everywhere?': flag() })

async function signUp(context: RequestContext, deps: AccountSignInDeps): Promise<Reply> {
  if (!deps.allowsSignUp()) throw new Refusal('forbidden', { reason: 'Sign-up is closed: chttpd_auth.allow_sign_up.' })
  const { name, password } = await readFields(NEW_USER, context)
  const caller = { signal: context.signal, peer: context.client.address }
  const create = () => deps.directory.createUser({ name, password: { password } }, caller)
  await deps.signUp(context, create)
  return toJsonReply(201, { name })
}

async function signIn(context: RequestContext, deps: AccountSignInDeps): Promise<Reply> {
  const { code = '', ...given } = await readFields(CREDENTIALS, context)
  const account = await deps.signIn.require({ ...given, code }, context)
  const { header } = await deps.signIn.open(account, context)
  const headers = [header, deps.signIn.timeoutHeader(), ...listActionHeaders(account)]
  return toJsonReply(200, showUser(account), headers)
}

async function signOut(context: RequestContext, { directory, signIn }: AccountSignInDeps): Promise<Reply> {
  const { everywhere = false } = await readFields(SIGN_OUT, context)
  const session = context.authenticated?.credential?.session
  if (session && everywhere) await directory.revokeSessions(session.name, ANY_USER, session.id)
  if (session) await signIn.end(session)
  return toJsonReply(200, { name: null }, [signIn.clear(context)])
}

/** What the fields of a form mean where the schema asks for a flag; `on` is a checkbox. */
const FLAGS: Readonly<Record<string, boolean>> = { true: true, on: true, false: false }

/** A form may have fields of its own, for example the name of a button. */
async function readFields<T>(schema: Schema<T>, context: RequestContext): Promise<T> {
  if (!isForm(context.header('content-type')))
    return requireValid(schema, (await readJsonBody(context, MAX_SIGN_IN_BYTES)) ?? {})
  const fields = await readForm(context, MAX_SIGN_IN_BYTES)
  const known = Object.entries(schema.properties ?? {}).filter(([name]) => fields.has(name))
  const toValue = (text = '', { type }: Schema) => (type === 'boolean' ? (FLAGS[text] ?? text) : text)
  return requireValid(schema, Object.fromEntries(known.map(([name, each]) => [name, toValue(fields.get(name), each)])))
}

/** A page of an origin that is not trusted must not sign its visitor up, in or out, or use a browser's credential. */
export function requireTrusted(context: RequestContext, origins: readonly string[]): void {
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
      return run(requireValid(schema, await readJsonBody(context, MAX_SIGN_IN_BYTES)), context)
    }
  const signIn = accept(CREDENTIALS, async ({ code = '', ...given }, context) =>
    toReply(await sessions.open({ ...given, code }, context)),
  )
  const renew = accept(RENEWAL, async ({ renewalToken }) => toReply(await sessions.renew(renewalToken)))
  const signOut = accept(RENEWAL, async ({ renewalToken }) => {
    await sessions.end(renewalToken)
    return toJsonReply(200, { name: null })
  })
  return [
    { path: `${ACCOUNT_PREFIX}/token`, right: OPEN, methods: { POST: signIn, DELETE: signOut } },
    { path: `${ACCOUNT_PREFIX}/token/renew`, right: OPEN, methods: { POST: renew } },
  ]
}

const toReply = ({ account, ...tokens }: TokenPair): Reply =>
  toJsonReply(200, { ...tokens, ...showUser(account) }, listActionHeaders(account))
