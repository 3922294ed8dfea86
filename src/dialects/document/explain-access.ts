// What an account may do at this door: asks the rules that requests are checked by.
import { PASSWORD } from '../../auth/basic.ts'
import { type ErrorCode, Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import type { AccessRule, DoorAccess } from '../../directory/door-access.ts'
import { authorize } from './authorize.ts'
import { DOCUMENT_BASIC } from './basic.ts'
import type { DocumentSettings } from './deps.ts'
import type { UsersDeps } from './users/deps.ts'

export interface ExplainOptions {
  readonly settings: DocumentSettings
  readonly users: Pick<UsersDeps, 'database' | 'settings'>
  /** Whether a database is behind the door. */
  readonly hasUpstream: boolean
}

interface Probe {
  readonly what: string
  readonly method: string
  readonly segments: readonly string[]
}

const toProbes = (users: string, database: string): readonly Probe[] => [
  { what: 'list the databases', method: 'GET', segments: ['_all_dbs'] },
  { what: `create or delete the database ${database}`, method: 'PUT', segments: [database] },
  { what: 'list the users', method: 'GET', segments: [users, '_all_docs'] },
  { what: 'read statistics of the node', method: 'GET', segments: ['_node', '_local', '_stats'] },
  { what: 'start a replication', method: 'POST', segments: ['_replicate'] },
  { what: 'read and change the configuration', method: 'GET', segments: ['_node', '_local', '_config'] },
]

export function explainDocumentAccess(account: Account, database: string, options: ExplainOptions): DoorAccess {
  const probes = toProbes(options.users.database, database)
  return {
    door: 'document',
    rules: [...probes.map((probe) => explain(probe, account, options)), explainDatabase(account, database, options)],
  }
}

/** As if the account had sent its password. */
const EXPLAINED = { kind: PASSWORD, handler: DOCUMENT_BASIC.name } as const

function explain({ what, method, segments }: Probe, account: Account, { settings, users }: ExplainOptions): AccessRule {
  const path = { raw: `/${segments.join('/')}`, segments }
  try {
    authorize({ method, path, authenticated: { identity: account, credential: EXPLAINED } }, settings, users)
    return { what, isAllowed: true, because: account.isAdmin ? 'The account is an administrator.' : 'Every user may.' }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { what, isAllowed: false, because: REASONS.get(error.code) ?? 'The door rejects it.' }
  }
}

const REASONS: ReadonlyMap<ErrorCode, string> = new Map<ErrorCode, string>([
  ['admin_required', 'Only administrators may.'],
  ['metrics_required', 'Only administrators and the role _metrics may.'],
  ['user_required', 'Only users may.'],
])

/** `_security` of the database decides about its documents. */
function explainDatabase(
  { name, roles, isAdmin }: Account,
  database: string,
  { hasUpstream }: ExplainOptions,
): AccessRule {
  const what = `read and write documents of ${database}`
  if (!hasUpstream) return { what, isAllowed: false, because: 'No database is behind this door.' }
  if (isAdmin) return { what, isAllowed: true, because: 'The account is an administrator.' }
  const held = roles.length === 0 ? 'without roles' : `with the roles ${roles.join(', ')}`
  return { what, isAllowed: null, because: `CouchDB decides by _security of the database, for ${name} ${held}.` }
}
