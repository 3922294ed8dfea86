// Whether the grants of the directory, or a read-only access token, allow a request at the document door.
import { Refusal } from '../../base/errors.ts'
import { isDatabaseName } from '../../dialects/document/explain-access.ts'
import { isAccount } from '../../directory/account.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import type { Identity } from '../../directory/identity.ts'
import type { GrantLevel } from '../../directory/users/user.ts'
import { isOwnDatabase, type UserDatabaseSettings } from '../user-databases/settings.ts'
import { findNeed, runsJobs } from './endpoints.ts'

/** The options of this module, by section, under their own names. */
export interface GrantSettings extends UserDatabaseSettings {
  readonly document: {
    readonly grants: 'off' | 'enforce'
    /** For requests without a user of the directory. `security`: CouchDB alone decides. */
    readonly 'grants-others': 'security' | 'none'
  }
}

/** What a request asks for. */
export interface AskedPath {
  readonly method: string
  /** The segments of its path, decoded once. */
  readonly segments: readonly string[]
  /** Left out if there is no request: then its body is not checked. */
  header?(name: string): string | undefined
}

/** The level of an identity on a database; `undefined`: no grant decides, only CouchDB. */
export function findDocumentLevel(
  identity: Identity,
  database: string,
  settings: GrantSettings,
): GrantLevel | undefined {
  const { document } = settings
  if (document.grants === 'off' || identity.isAdmin) return undefined
  if (!isAccount(identity)) return document['grants-others'] === 'none' ? 'none' : undefined
  // a grant on all databases covers no other name
  if (!isDatabaseName(database)) return 'none'
  return findGrant(identity, database, settings)?.level ?? 'none'
}

/** The grant that decides about a database. A user may use its own, unless a grant on it says less. */
export function findGrant(identity: Identity, database: string, settings: GrantSettings) {
  const given = findGiven(identity, database)
  if (given?.on === database || !isOwnDatabase(identity, database, settings)) return given
  return { on: database, level: 'rw' } as const
}

/** Grants on `_system` mean nothing at this door. */
function findGiven({ grants }: Identity, database: string) {
  const own = grants.get(database)?.level
  if (own !== undefined) return { on: database, level: own }
  const level = grants.get(ALL)?.level
  return level && { on: ALL, level }
}

/** Why the grants of an identity do not allow a request; `undefined`: they do, or none decide about this path. */
export function checkAccess(asked: AskedPath, identity: Identity, settings: GrantSettings): Refusal | undefined {
  const [first = ''] = asked.segments
  if (settings.document.grants === 'off' || identity.isAdmin) return undefined
  if (runsJobs(asked.segments)) return new Refusal('admin_required')
  if (first === '' || first.startsWith('_')) return undefined
  const level = findDocumentLevel(identity, first, settings)
  // the user has the level of `*` on a database that does not exist, and a hidden one must look the same
  const refusal = checkLevel(asked, isHidden(identity, first) ? findGiven(identity, ALL)?.level : level, identity)
  return refusal ?? (level === 'none' ? new Refusal('database_not_found') : undefined)
}

function checkLevel(asked: AskedPath, level: GrantLevel | undefined, identity: Identity): Refusal | undefined {
  if (level === 'ro') return checkRead(asked, 'You may only read this database.')
  const isRewrite = level === 'rw' && findNeed(asked.method, asked.segments).isRewrite === true
  return isRewrite && !mayWriteEverywhere(identity) ? forbid('_rewrite needs rw on every database.') : undefined
}

/** Whether a user who may use all others has no access to a database. */
export const isHidden = ({ grants }: Identity, database: string): boolean =>
  grants.get(database)?.level === 'none' && (grants.get(ALL)?.level ?? 'none') !== 'none' && isDatabaseName(database)

const forbid = (reason: string): Refusal => new Refusal('forbidden', { reason })

/** A rewrite leads to any database that its design document names. */
const mayWriteEverywhere = (identity: Identity): boolean =>
  [ALL, ...identity.grants.keys()].every(
    (name) => name === SYSTEM_DATABASE || findGiven(identity, name)?.level === 'rw',
  )

/** Why a client that may only read must not send a request. */
export function checkRead({ method, segments, header }: AskedPath, reason: string): Refusal | undefined {
  const { level, maxBodyBytes } = findNeed(method, segments)
  if (level === 'rw') return forbid(reason)
  if (maxBodyBytes === undefined || !header) return undefined
  // a body without a length is sent on while it arrives, and one with a content coding is larger than its length
  const length = header('content-length')
  const isPlain = header('transfer-encoding') === undefined && header('content-encoding') === undefined
  return isPlain && Number(length) <= maxBodyBytes ? undefined : new Refusal('body_too_large')
}
