/** `/_session`: who the request acts as (GET), sign in (POST), sign out (DELETE). */
import { MAX_SIGN_IN_BYTES } from '../../auth/door-sign-in.ts'
import { isExternalJwt } from '../../auth/jwt.ts'
import { listSessionHeaders } from '../../auth/required-actions.ts'
import { COOKIE_HANDLER } from '../../auth/session/account-session.ts'
import { renderTimeout } from '../../auth/session/session-cookie.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Identity } from '../../directory/identity.ts'
import { type Fields, findRedirect, readForm, redirectTo } from '../../http/form.ts'
import type { Reply, RequestContext, RequestHead, RequestIdentity } from '../../http/request-context.ts'
import { acceptsHtml } from '../sign-in-redirect.ts'
import { requireBody, requireJsonObject, toDocumentReply } from './body.ts'
import type { DocumentDeps, DocumentSettings } from './deps.ts'
import { toDocumentErrorReply } from './errors.ts'
import { DOCUMENT_RIGHTS, type DocumentRoute, rejectUnknownDocumentPath } from './rights.ts'

export const sessionRoutes = (deps: DocumentDeps): readonly DocumentRoute[] => [
  {
    path: `/${SESSION_ENDPOINT}`,
    right: DOCUMENT_RIGHTS.session,
    methods: {
      GET: (context) => getSession(context, deps.settings()),
      POST: (context) => postSession(context, deps),
      DELETE: (context) => deleteSession(context, deps),
    },
    allow: ['GET', 'HEAD', 'POST', 'DELETE'],
    recordsNothing: true,
  },
  // no path below belongs to the database
  { path: `/${SESSION_ENDPOINT}/{...}`, right: DOCUMENT_RIGHTS.unscopedAdmin, handle: rejectUnknownDocumentPath },
]

/** Also the name of the endpoint in security events. */
export const SESSION_ENDPOINT = '_session'

/** The last reply for each identity. Rendering it takes 4 µs of the 45 µs of a request (`npm run bench -- session`). */
const rendered = new WeakMap<Identity, { settings: DocumentSettings; handler: string | undefined; reply: Reply }>()

function getSession(context: RequestHead & RequestIdentity, settings: DocumentSettings): Reply {
  const { identity, credential } = context.authenticated ?? ANONYMOUS
  if (identity.name === null && context.query.get('basic') === 'true') throw new Refusal('login_required')
  const handler = credential?.handler
  const known = rendered.get(identity)
  if (known?.settings === settings && known.handler === handler) return known.reply
  const reply = renderSession(identity, handler, settings)
  rendered.set(identity, { settings, handler, reply })
  return reply
}

const renderSession = (
  identity: Identity,
  handler: string | undefined,
  { handlers, authenticationDb, chttpd_auth }: DocumentSettings,
): Reply =>
  toDocumentReply(
    200,
    {
      ok: true,
      userCtx: { name: identity.name, roles: identity.roles },
      info: { authentication_handlers: handlers, authenticated: handler, authentication_db: authenticationDb },
    },
    handler === COOKIE_HANDLER ? [renderTimeout(chttpd_auth), ...listSessionHeaders(identity)] : [],
  )

async function postSession(context: RequestContext, deps: DocumentDeps): Promise<Reply> {
  // both are checked first: a request with an invalid redirect opens no session
  const next = findRedirect(context, 'next')
  const fail = findRedirect(context, 'fail')
  const opened = await openSession(context, deps)
  const { settings, cookieHeaders } = deps
  if (!opened) {
    const error = toDocumentErrorReply(new Refusal('credential_refused'), [cookieHeaders.renderCleared(context)])
    return redirectTo(fail, error)
  }
  const { identity, cookie } = opened
  const body = { ok: true, name: identity.name, roles: identity.roles }
  const page = acceptsHtml(context.header('accept')) ? settings().chttpd_auth.authentication_redirect : ''
  const headers = [cookieHeaders.render(cookie, context), cookieHeaders.renderTimeout()]
  const reply = toDocumentReply(200, body, [...headers, ...listSessionHeaders(identity)])
  return redirectTo(next ?? (page || undefined), reply)
}

/** With name and password, or with the JWT of the request. `undefined`: wrong name, password or code. */
async function openSession(context: RequestContext, deps: DocumentDeps) {
  const authenticated = context.authenticated ?? ANONYMOUS
  const hasToken = isExternalJwt(authenticated.credential)
  if (hasToken && !context.hasBody) return deps.sessions.openForToken(authenticated, context)
  const { name, password, token } = await readSignInBody(context)
  if (name !== undefined) return deps.sessions.open({ name, password, code: token }, context)
  if (hasToken) return deps.sessions.openForToken(authenticated, context)
  throw badRequest('request body must contain a username')
}

async function deleteSession(context: RequestContext, deps: DocumentDeps): Promise<Reply> {
  const next = findRedirect(context, 'next')
  await deps.sessions.endCarried(context)
  return redirectTo(next, toDocumentReply(200, { ok: true }, [deps.cookieHeaders.renderCleared(context)]))
}

// Reads a request to sign in at `/_session`.

const READERS: ReadonlyMap<string, (context: RequestContext) => Promise<Fields>> = new Map([
  ['application/x-www-form-urlencoded', (context) => readForm(context, MAX_SIGN_IN_BYTES)],
  ['application/json', readObject],
])

const ACCEPTED_TYPES = [...READERS.keys()].map((type) => `'${type}'`).join(' or ')

/** `token` is the one-time code. Empty: none was sent. */
async function readSignInBody(context: RequestContext) {
  const [type = ''] = (context.header('content-type') ?? '').split(';')
  const read = READERS.get(type.trim().toLowerCase())
  if (!read) throw new Refusal('unsupported_media_type', { value: ACCEPTED_TYPES })
  const fields = await read(context)
  return { name: findName(fields), password: fields.get('password') ?? '', token: fields.get('token') ?? '' }
}

function findName(fields: Fields): string | undefined {
  const [name, username] = [fields.get('name'), fields.get('username')]
  if (name !== undefined && username !== undefined && name !== username)
    throw badRequest('request body contains different usernames')
  return name ?? username
}

async function readObject(context: RequestContext): Promise<Fields> {
  const { value } = await requireBody(context, MAX_SIGN_IN_BYTES, 'request body names a member twice')
  return new Map(Object.entries(requireJsonObject(value)).map(([name, member]) => [name, requireText(member)]))
}

function requireText(value: unknown): string {
  if (typeof value === 'string') return value
  throw badRequest('every member of the request body must be a string')
}
