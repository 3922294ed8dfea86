// What an account may do at this door: asks the rules that requests are checked by.
import type { ErrorCode, Refusal } from '../../base/errors.ts'
import type { AccessRule, Account, DoorAccess } from '../../directory/account.ts'
import { createRouter } from '../../http/dispatch.ts'
import type { DocumentSettings, UsersDeps } from './deps.ts'
import { DOCUMENT_RIGHTS, type DocumentRight, documentRightOf, FORWARDED_ROUTES } from './rights.ts'
import { listRight } from './users/authorize.ts'

export interface ExplainOptions {
  readonly settings: DocumentSettings
  readonly users: Pick<UsersDeps, 'database' | 'settings'>
  /** Whether a database is behind the door. */
  readonly hasUpstream: boolean
  /** What is checked after the rights. */
  readonly checks: readonly AccessCheck[]
}

/** A check of requests, asked without one. */
export interface AccessCheck {
  /** Why a request is not allowed. */
  check(asked: { readonly method: string; readonly segments: readonly string[] }, account: Account): Refusal | undefined
  /** What decides about a database; `undefined`: nothing that is checked here. */
  describe(account: Account, database: string): string | undefined
}

interface Probe {
  readonly what: string
  readonly right: DocumentRight
  readonly method?: string
  /** Left out if no grant decides about the path. */
  readonly path?: string
}

const toProbes = (users: ExplainOptions['users']): readonly Probe[] => [
  { what: 'list the databases', right: DOCUMENT_RIGHTS.listDatabases },
  { what: 'create or delete databases', right: DOCUMENT_RIGHTS.database, method: 'PUT' },
  { what: 'list the users', right: listRight(users) },
  { what: 'read statistics of the node', right: DOCUMENT_RIGHTS.metrics },
  { what: 'start a replication', right: DOCUMENT_RIGHTS.user, method: 'POST', path: '_replicate' },
  { what: 'read and change the configuration', right: DOCUMENT_RIGHTS.admin },
]

export const explainDocumentAccess = (account: Account, database: string, options: ExplainOptions): DoorAccess => ({
  door: 'document',
  rules: [
    ...toProbes(options.users).map((probe) => explain(probe, account, options)),
    ...explainDatabase(account, database, options),
  ],
})

function explain({ what, right, method = 'GET', path }: Probe, account: Account, options: ExplainOptions): AccessRule {
  const isMet = right.isMet(account, { method, match: undefined }, options.settings)
  const refusal = path === undefined ? undefined : findRefusal(method, [path], account, options)
  const code = isMet ? refusal?.code : right.code
  if (code !== undefined) return { what, isAllowed: false, because: REASONS[code] ?? 'The door rejects it.' }
  return { what, isAllowed: true, because: account.isAdmin ? 'The account is an administrator.' : 'Every user may.' }
}

const REASONS: Readonly<Partial<Record<ErrorCode, string>>> = {
  admin_required: 'Only administrators may.',
  metrics_required: 'Only administrators and the role _metrics may.',
  user_required: 'Only users may.',
}

/** What CouchDB accepts as the name of a database, except those of the system. */
export const isDatabaseName = (name: string): boolean => /^[a-z][a-z0-9_$()+/-]*$/.test(name)

/** Rights decide first, then the checks, then `_security` of the database. */
function explainDatabase(account: Account, database: string, options: ExplainOptions): readonly AccessRule[] {
  const because = database.startsWith('_')
    ? findSystemReason(account, database, options)
    : isDatabaseName(database)
      ? undefined
      : 'CouchDB accepts no database of this name.'
  if (because === undefined) return explainLevels(account, database, options)
  return [{ what: `read and write documents of ${database}`, isAllowed: false, because }]
}

const findForwarded = createRouter(FORWARDED_ROUTES)

/** Why an account may not use a database of the system as others. */
function findSystemReason(account: Account, database: string, { users, settings }: ExplainOptions): string | undefined {
  if (account.isAdmin) return undefined
  if (database === users.database) return 'Users may only read and change their own document there.'
  const segments = [database, 'document']
  const match = findForwarded(segments)
  const right = documentRightOf({ match, path: { raw: '', segments } })
  return right.isMet(account, { method: 'GET', match }, settings) ? undefined : REASONS[right.code]
}

function explainLevels(account: Account, database: string, options: ExplainOptions): readonly AccessRule[] {
  const check = (method: string) => findRefusal(method, [database, 'document'], account, options)
  const toRule = (verb: string, refusal: Refusal | undefined): AccessRule => ({
    what: `${verb} documents of ${database}`,
    ...(refusal ? explainRefusal(refusal, account, database, options) : explainSecurity(account, database, options)),
  })
  const [reading, writing] = [check('GET'), check('PUT')]
  if (reading?.code === writing?.code) return [toRule('read and write', reading)]
  return [toRule('read', reading), toRule('write', writing)]
}

const findRefusal = (method: string, segments: readonly string[], account: Account, { checks }: ExplainOptions) =>
  findFirst(checks, ({ check }) => check({ method, segments }, account))

const findReason = (account: Account, database: string, { checks }: ExplainOptions) =>
  findFirst(checks, ({ describe }) => describe(account, database))

function findFirst<T>(checks: readonly AccessCheck[], ask: (check: AccessCheck) => T | undefined): T | undefined {
  for (const check of checks) {
    const found = ask(check)
    if (found !== undefined) return found
  }
  return undefined
}

const explainRefusal = ({ code }: Refusal, account: Account, database: string, options: ExplainOptions) => ({
  isAllowed: false,
  because: REASONS[code] ?? findReason(account, database, options) ?? 'The door rejects it.',
})

function explainSecurity(account: Account, database: string, options: ExplainOptions) {
  const { name, roles, isAdmin } = account
  if (!options.hasUpstream) return { isAllowed: false, because: 'No database is behind this door.' }
  if (isAdmin) return { isAllowed: true, because: 'The account is an administrator.' }
  const held = roles.length === 0 ? 'without roles' : `with the roles ${roles.join(', ')}`
  const decides = `CouchDB decides by _security of the database, for ${name} ${held}.`
  const before = findReason(account, database, options)
  return { isAllowed: null, because: before === undefined ? decides : `${before} Then ${decides}` }
}
