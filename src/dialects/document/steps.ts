import { isUntrustedSimpleChange } from '../../base/cross-site.ts'
import { decodePercent, isPercentEncodingValid } from '../../base/encoding.ts'
import { isClientError, Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Authenticated, identityOf, isAnonymous } from '../../directory/identity.ts'
import type { Path, Reply, RequestContext, RequestHead, RequestIdentity, Step } from '../../http/request-context.ts'
import { readPlainSegment } from '../plain-segment.ts'
import { coversPath, createActionsStep, createEpochStep, forwardPreflight, isClientOf } from '../services.ts'
import { toSignInPage, wantsPage } from '../sign-in-redirect.ts'
import { answerPreflight, listTrustedOrigins } from './cors.ts'
import type { DocumentDeps, DocumentSettings } from './deps.ts'
import { authorize, documentRightOf } from './rights.ts'

/** The checks of a request, in order. The first five need no credential and reveal nothing about users. */
export const documentSteps = ({
  settings,
  authenticate,
  streams,
  replies = [],
  checks = [],
}: DocumentDeps): readonly Step[] => [
  { name: 'host', run: (context) => checkHost(context, settings()) },
  { name: 'uri length', run: (context) => checkLength(context.target, settings()) },
  { name: 'url encoding', run: checkEncoding },
  { name: 'path', run: checkPath },
  {
    name: 'preflight',
    run: (context) =>
      answerPreflight(context, settings()) ?? forwardPreflight(context, documentRightOf(context).service),
  },
  createEpochStep(streams),
  {
    name: 'authenticate',
    authenticates: true,
    run: (context) =>
      setIdentity(
        context,
        isOpenService(context, settings()) ? readOpen(context, authenticate) : authenticate(context),
      ),
  },
  ...replies,
  { name: 'token scope', run: requireScope },
  { name: 'cross origin', run: (context) => rejectCrossOrigin(context, settings()) },
  createActionsStep(documentRightOf),
  { name: 'sign-in page', run: (context) => sendToSignIn(context, settings()) },
  { name: 'valid user', checksRights: true, run: (context) => requireValidUser(context, settings()) },
  { name: 'authorize', checksRights: true, run: (context) => authorize(context, settings()) },
  ...checks,
  { name: 'users database', run: rejectReservedId },
]

/** Waits only if there is something to wait for. */
function setIdentity(
  context: RequestIdentity,
  found: Authenticated | Promise<Authenticated>,
): undefined | Promise<undefined> {
  if (found instanceof Promise) return found.then((authenticated) => setIdentity(context, authenticated))
  context.authenticated = found
  return undefined
}

const isOpenService = (context: RequestHead, settings: DocumentSettings): boolean => {
  const { service } = documentRightOf(context)
  return service !== undefined && service.clients === undefined && !isValidUserRequired(settings)
}

/** An application that is open to everyone may have tokens of its own, which this door cannot read. */
async function readOpen(context: RequestContext, authenticate: DocumentDeps['authenticate']): Promise<Authenticated> {
  try {
    return await authenticate(context)
  } catch (error) {
    const authorization = context.header('authorization')
    const isOwn =
      authorization === undefined || documentRightOf(context).service?.isOwnCredential(authorization) !== false
    if (isOwn || !isClientError(error)) throw error
    return ANONYMOUS
  }
}

/** An access token may be valid for some databases and services only. */
function requireScope(context: RequestHead & RequestIdentity): undefined {
  const scope = context.authenticated?.credential?.scope
  const { isUnscoped, service } = documentRightOf(context)
  if (scope === undefined || isUnscoped || coversPath(scope, service, context.path.segments[0] ?? '')) return
  throw new Refusal('forbidden', { reason: 'This access token is not valid for this path.' })
}

/** For a server without a module that knows which requests only read. */
export const REFUSE_READ_ONLY: Step = {
  name: 'read-only tokens',
  checksRights: true,
  run(context) {
    if (context.authenticated?.credential?.scope?.access === 'ro' && !documentRightOf(context).isUnscoped)
      throw new Refusal('forbidden', { reason: 'This build of Cardea has no module for read-only access tokens.' })
    return undefined
  },
}

function checkHost(context: RequestHead & RequestIdentity, { chttpd }: DocumentSettings): undefined {
  if (!chttpd.validate_host) return
  // both are forwarded, and the database prefers the one that a trusted proxy reports
  const hosts = [context.header('host') ?? '', context.client.host]
  if (!hosts.every((host) => chttpd.valid_hosts.includes(host.replace(/:\d*$/, '')))) throw new Refusal('invalid_host')
}

function checkLength(target: string, { chttpd: { max_uri_length: max } }: DocumentSettings): undefined {
  if (max !== 0 && target.length > max) throw new Refusal('uri_too_long')
}

function checkEncoding(context: RequestHead): undefined {
  if (!isPercentEncodingValid(context.target)) throw new Refusal('invalid_url_encoding')
}

/** Reading the path throws if it is ambiguous. Applications decode paths by other rules than CouchDB. */
function checkPath(context: RequestHead): undefined {
  const { raw } = context.path
  if (documentRightOf(context).service) for (const part of raw.split('/')) if (part !== '') readPlainSegment(part)
}

/** A page of another origin must not use the credential of a browser, nor sign the browser in as another user. */
function rejectCrossOrigin(context: RequestHead & RequestIdentity, settings: DocumentSettings): undefined {
  const sent = context.authenticated?.credential?.kind.sentByBrowser
  if (sent === undefined && !documentRightOf(context).signsIn) return
  const trusted = { origins: listTrustedOrigins(settings), hasCertificate: sent === 'connection' }
  if (isUntrustedSimpleChange(context, trusted)) throw new Refusal('cross_origin')
}

/** From the pages of an application that is for users only. */
function sendToSignIn(context: RequestHead & RequestIdentity, { gate }: DocumentSettings): Reply | undefined {
  const { service } = documentRightOf(context)
  if (!gate['sign-in'] || !service || isClientOf(service, identityOf(context))) return undefined
  if (!isAnonymous(context.authenticated) || !wantsPage(context, context.method)) return undefined
  return { status: 302, headers: [toSignInPage(context.target), ['Cache-Control', 'no-store']] }
}

const isValidUserRequired = ({ chttpd }: DocumentSettings): boolean =>
  chttpd.require_valid_user || chttpd.require_valid_user_except_for_up

function requireValidUser(context: RequestHead & RequestIdentity, settings: DocumentSettings): undefined {
  if (!isValidUserRequired(settings) || !isAnonymous(context.authenticated)) return
  if (!documentRightOf(context).isForAnyone?.(context, settings)) throw new Refusal('authentication_required')
}

/** The id of a document in the users database does not begin with `_`, unless it is one of a folder such as `_design`. */
function rejectReservedId({ match }: RequestHead): undefined {
  const id = match?.params['id'] ?? ''
  if (id.startsWith('_') && !id.includes('/')) throw new Refusal('not_found')
}

/** If anonymous requests are rejected, they are rejected on the paths of other dialects at this door too. */
export const createDocumentEntry =
  (settings: () => DocumentSettings, { authenticate }: Pick<DocumentDeps, 'authenticate'>): Step['run'] =>
  async (context) => {
    if (!isValidUserRequired(settings())) return undefined
    context.authenticated = await authenticate(context)
    if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
    return undefined
  }

/**
 * Splits a path at its slashes and decodes each segment once. Checks use the decoded segments; the raw bytes are
 * forwarded. Empty and dot segments are rejected because servers disagree about them; a trailing slash is allowed.
 * `%2F` is legal inside the name of a database or the id of a document, unless a server that decodes before it splits
 * would find another path.
 */
export function readDocumentPath(raw: string): Path {
  const segments: string[] = []
  for (let from = 1; from < raw.length; ) {
    const slash = raw.indexOf('/', from)
    const end = slash < 0 ? raw.length : slash
    const segment = readSegment(raw.slice(from, end))
    if (segments.length === 0 && !isUnambiguousFirst(segment)) throw new Refusal('invalid_target')
    segments.push(segment)
    from = end + 1
  }
  return { raw, segments }
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined || text.includes('\0')) throw new Refusal('invalid_url_encoding')
  if (text === '' || text === '.' || PARENT_SEGMENT.test(text)) throw new Refusal('invalid_target')
  return text
}

/** `..` between slashes of either kind: it leads out of the database on a server that decodes before it splits. */
const PARENT_SEGMENT = /(?:^|[/\\])\.\.(?:[/\\]|$)/

/** The first segment decides about access. It must not split into empty or dot segments, and contains no `\`. */
function isUnambiguousFirst(name: string): boolean {
  if (name.includes('\\')) return false
  return !name.includes('/') || name.split('/').every((part) => part !== '' && part !== '.')
}
