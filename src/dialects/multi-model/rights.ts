/** The rights that paths of this door need. A row of the routes names one. */
import { Refusal } from '../../base/errors.ts'
import type { RequestContext, RequestHead, Route } from '../../http/request-context.ts'
import type { DoorRight } from '../services.ts'

/** Which credentials of a request are checked. */
export type CheckedCredentials = 'all' | 'token' | 'none'

/** Without any of these, the client must be allowed to enter the database of the path. */
export interface MultiModelRight extends DoorRight {
  /** For every client. Credentials are not checked. */
  readonly isOpen?: true
  /** The method for which the token of the request is checked although the path is open. */
  readonly tokenMethod?: string
  /** For every user: the handlers, or the service, check whose data it is. */
  readonly isForUsers?: true
  /** It concerns the whole server: an access token must be valid for the system database. */
  readonly isAboutServer?: true
}

export type MultiModelRoute = Route<MultiModelRight>

const OPEN = { isOpen: true, isBeforeRequiredActions: () => true } as const
const OWN_USER = { isAboutServer: true, isForUsers: true } as const

const OWN_USER_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'PATCH'])

export const MULTI_MODEL_RIGHTS = {
  database: {},
  server: { isAboutServer: true },
  open: OPEN,
  signIn: { ...OPEN, tokenMethod: 'DELETE' },
  renewal: { ...OPEN, tokenMethod: 'POST' },
  /** `_open` itself: only the paths below are open. */
  openRoot: { isBeforeRequiredActions: () => true },
  ownUser: OWN_USER,
  /** The record of a user, in which it changes its password. */
  user: {
    ...OWN_USER,
    isBeforeRequiredActions: ({ method, match }, { name }) =>
      OWN_USER_METHODS.has(method) && match?.params['user'] === name,
  },
} satisfies Readonly<Record<string, MultiModelRight>>

/** The right that a request needs. A row that names none concerns the whole server. */
export function multiModelRightOf({ match, path }: Pick<RequestContext, 'match' | 'path'>): MultiModelRight {
  if (!match) return MULTI_MODEL_RIGHTS.database
  // every row of this dialect is a MultiModelRoute
  const right: MultiModelRight = (match.route.right as MultiModelRight | undefined) ?? MULTI_MODEL_RIGHTS.server
  return right.service && path.prefix ? MULTI_MODEL_RIGHTS.database : right
}

/**
 * Drivers send a password with every request. On an open path it would be hashed, and counted as a failed sign-in, for
 * nothing: only a token that is to be renewed or revoked is checked there.
 */
export function selectCredentials(context: RequestHead): CheckedCredentials {
  const { isOpen, tokenMethod } = multiModelRightOf(context)
  if (!isOpen) return 'all'
  return tokenMethod === context.method ? 'token' : 'none'
}

/** For paths that are never forwarded and have no handler. */
export function rejectUnknownMultiModelPath({ path: { segments } }: Pick<RequestContext, 'path'>): never {
  throw new Refusal('not_found', { reason: `unknown path '/${segments.join('/')}'` })
}

/** Paths of no endpoint whose right is not that of a path without a row. */
export const OTHER_ROUTES: readonly MultiModelRoute[] = [
  { path: '/_admin/{...}', right: MULTI_MODEL_RIGHTS.server },
  { path: '/_api/cluster/{...}', right: MULTI_MODEL_RIGHTS.server },
  { path: '/_api/cluster/endpoints', right: MULTI_MODEL_RIGHTS.ownUser },
  { path: '/_api/database/{...}', right: MULTI_MODEL_RIGHTS.server },
  // the database does not know an API version that was not stripped
  { path: '/_arango/{...}', right: MULTI_MODEL_RIGHTS.database, handle: rejectUnknownMultiModelPath },
  // only Cardea handles sign-in
  { path: '/_open/{...}', right: MULTI_MODEL_RIGHTS.openRoot, handle: rejectUnknownMultiModelPath },
  { path: '/_open/{endpoint}/{...}', right: MULTI_MODEL_RIGHTS.open, handle: rejectUnknownMultiModelPath },
]
