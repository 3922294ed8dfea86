// What an account may do at this door: asks the rules that requests are checked by.
import type { ErrorCode } from '../../base/errors.ts'
import type { AccessRule, Account, DoorAccess } from '../../directory/account.ts'
import type { DocumentSettings, UsersDeps } from './deps.ts'
import { type DocumentRight, RIGHTS } from './rights.ts'
import { listRight } from './users/authorize.ts'

export interface ExplainOptions {
  readonly settings: DocumentSettings
  readonly users: Pick<UsersDeps, 'settings'>
  /** Whether a database is behind the door. */
  readonly hasUpstream: boolean
}

interface Probe {
  readonly what: string
  readonly right: DocumentRight
  readonly method?: string
}

const toProbes = (users: ExplainOptions['users']): readonly Probe[] => [
  { what: 'list the databases', right: RIGHTS.listDatabases },
  { what: 'create or delete databases', right: RIGHTS.database, method: 'PUT' },
  { what: 'list the users', right: listRight(users) },
  { what: 'read statistics of the node', right: RIGHTS.metrics },
  { what: 'start a replication', right: RIGHTS.user },
  { what: 'read and change the configuration', right: RIGHTS.admin },
]

export const explainDocumentAccess = (account: Account, database: string, options: ExplainOptions): DoorAccess => ({
  door: 'document',
  rules: [
    ...toProbes(options.users).map((probe) => explain(probe, account, options.settings)),
    explainDatabase(account, database, options),
  ],
})

function explain({ what, right, method = 'GET' }: Probe, account: Account, settings: DocumentSettings): AccessRule {
  if (!right.isMet(account, { method, match: undefined }, settings))
    return { what, isAllowed: false, because: REASONS[right.code] ?? 'The door rejects it.' }
  return { what, isAllowed: true, because: account.isAdmin ? 'The account is an administrator.' : 'Every user may.' }
}

const REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  admin_required: 'Only administrators may.',
  metrics_required: 'Only administrators and the role _metrics may.',
  user_required: 'Only users may.',
}

/** `_security` of the database decides about its documents. */
function explainDatabase(account: Account, database: string, { hasUpstream }: ExplainOptions): AccessRule {
  const { name, roles, isAdmin } = account
  const what = `read and write documents of ${database}`
  if (!hasUpstream) return { what, isAllowed: false, because: 'No database is behind this door.' }
  if (isAdmin) return { what, isAllowed: true, because: 'The account is an administrator.' }
  const held = roles.length === 0 ? 'without roles' : `with the roles ${roles.join(', ')}`
  return { what, isAllowed: null, because: `CouchDB decides by _security of the database, for ${name} ${held}.` }
}
