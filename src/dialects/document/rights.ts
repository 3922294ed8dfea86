/** The rights that paths of this door need. A row of the routes names one. */
import { type ErrorCode, Refusal } from '../../base/errors.ts'
import { type Identity, identityOf, isAnonymous, METRICS_ROLE } from '../../directory/identity.ts'
import type { RequestContext, RequestHead, RequestIdentity, Route } from '../../http/request-context.ts'
import { type Asked, type DoorRight, isClientOf, type MountedService } from '../services.ts'
import type { DocumentSettings } from './deps.ts'

export interface DocumentRight extends DoorRight {
  isMet(identity: Identity, request: Asked, settings: DocumentSettings): boolean
  /** The error if it is not met. */
  readonly code: ErrorCode
  /** Whether an anonymous request passes although the door requires a valid user. */
  isForAnyone?(request: Asked, settings: DocumentSettings): boolean
  /** The path has no data of a database or a user: access tokens for some databases only are valid for it. */
  readonly isUnscoped?: true
  /** The request signs a browser in, so a page of another origin must not send it. */
  readonly signsIn?: true
}

export type DocumentRoute = Route<DocumentRight>

/** Administrators always, other clients only if the condition is true. */
export const adminUnless = (
  isOpen: (request: Asked, settings: DocumentSettings) => boolean,
): Pick<DocumentRight, 'isMet' | 'code'> => ({
  isMet: ({ isAdmin }, request, settings) => isAdmin || isOpen(request, settings),
  code: 'admin_required',
})

const isRead = ({ method }: Asked): boolean => method === 'GET' || method === 'HEAD'

const ADMIN = adminUnless(() => false)
const OPEN = adminUnless(() => true)

/** Handlers, and the database for forwarded requests, may require more. */
export const DOCUMENT_RIGHTS = {
  open: OPEN,
  admin: ADMIN,
  user: { isMet: ({ name, isAdmin }) => name !== null || isAdmin, code: 'user_required' },
  metrics: { isMet: ({ isAdmin, roles }) => isAdmin || roles.includes(METRICS_ROLE), code: 'metrics_required' },
  /** To read; an administrator may do everything. */
  read: adminUnless(isRead),
  listDatabases: adminUnless((_request, { chttpd }) => !chttpd.admin_only_all_dbs),
  /** A database itself: only administrators create and delete it. */
  database: adminUnless(({ method }) => method !== 'PUT' && method !== 'DELETE'),
  root: { ...OPEN, isUnscoped: true },
  up: {
    ...OPEN,
    isUnscoped: true,
    isForAnyone: (_request, { chttpd }) => chttpd.require_valid_user_except_for_up,
  },
  session: {
    ...OPEN,
    isUnscoped: true,
    signsIn: true,
    isForAnyone: ({ method }) => method === 'POST',
    isBeforeRequiredActions: () => true,
  },
  unscopedAdmin: { ...ADMIN, isUnscoped: true },
} satisfies Readonly<Record<string, DocumentRight>>

/** The right that a request needs. Without a row, paths of the system are for administrators. */
export function documentRightOf({ match, path: { segments } }: Pick<RequestContext, 'match' | 'path'>): DocumentRight {
  // every row of this dialect is a DocumentRoute
  if (match) return (match.route.right as DocumentRight | undefined) ?? DOCUMENT_RIGHTS.admin
  if (segments[0]?.startsWith('_')) return DOCUMENT_RIGHTS.admin
  return segments.length === 1 ? DOCUMENT_RIGHTS.database : DOCUMENT_RIGHTS.open
}

/** Checks the right before any handler runs. */
export function authorize(context: RequestHead & RequestIdentity, settings: DocumentSettings): undefined {
  const { isMet, code, service } = documentRightOf(context)
  if (isMet(identityOf(context), context, settings)) return
  if (!service || isAnonymous(context.authenticated)) throw new Refusal(code)
  throw new Refusal('forbidden', { reason: `The service ${service.name} is for users with a grant on _system.` })
}

export const toServiceRight = (service: MountedService): DocumentRight => ({
  isMet: (identity) => isClientOf(service, identity),
  code: 'authentication_required',
  service,
})

/** For paths that have no handler and are never forwarded. */
export function rejectUnknownDocumentPath(): never {
  throw new Refusal('not_found')
}

/** Paths that Cardea forwards with another right than that of a path without a row. */
export const FORWARDED_ROUTES: readonly DocumentRoute[] = [
  { path: '/_all_dbs/{...}', right: DOCUMENT_RIGHTS.listDatabases },
  { path: '/_dbs_info/{...}', right: DOCUMENT_RIGHTS.listDatabases },
  { path: '/_node/{node}/_prometheus/{...}', right: DOCUMENT_RIGHTS.metrics },
  { path: '/_node/{node}/_stats/{...}', right: DOCUMENT_RIGHTS.metrics },
  { path: '/_node/{node}/_system/{...}', right: DOCUMENT_RIGHTS.metrics },
  { path: '/_replicate', right: DOCUMENT_RIGHTS.user },
  // CouchDB checks access to the documents of this database
  { path: '/_replicator', right: DOCUMENT_RIGHTS.database },
  { path: '/_replicator/{...}', right: DOCUMENT_RIGHTS.open },
  { path: '/_stats', right: DOCUMENT_RIGHTS.open },
  { path: '/_up/{...}', right: DOCUMENT_RIGHTS.unscopedAdmin },
  { path: '/_utils/{...}', right: DOCUMENT_RIGHTS.read },
]
