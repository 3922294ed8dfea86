// The databases behind both doors, and who may use them: CouchDB's `_security` and the grants of the multi-model door.
import { compareBytes } from '../../../base/encoding.ts'
import { badRequest, Refusal } from '../../../base/errors.ts'
import { isJsonObject } from '../../../base/json.ts'
import { requireChange } from '../../../directory/caller.ts'
import { ADMIN_ROLE } from '../../../directory/identity.ts'
import { type Call, nameOf, type OperationDeps, operation, requireServer } from '../operation.ts'
import type { UpstreamDatabase } from '../ports.ts'
import {
  DATABASE_PAGE,
  DATABASE_QUERY,
  type DatabasePageView,
  type DatabaseView,
  SECURITY,
  SECURITY_CHANGE,
  type SecurityView,
} from '../schemas/databases.ts'

const DEFAULT_LIMIT = 50
const MAX_BYTES = 16 * 1024 * 1024
/** Sorted after every other text that begins alike. */
const LAST = '\u{10ffff}'

export const DATABASE_OPERATIONS = {
  'database.list': operation('GET /databases', 'administrator', {
    summary: 'List the databases behind both doors, with who may use them',
    query: DATABASE_QUERY,
    reply: DATABASE_PAGE,
    async run(deps, call) {
      const { search: text = '', after = '', limit = DEFAULT_LIMIT, role } = call.query
      const range = { text, after, limit }
      const askCouchdb = findAsk(deps, call, 'document')
      const askArangodb = findAsk(deps, call, 'multi-model')
      const [couchdb, arangodb, grants] = await Promise.all([
        listFrom('CouchDB', askCouchdb && listDocumentNames(askCouchdb, range)),
        listFrom('ArangoDB', askArangodb && listMultiModelNames(askArangodb, range)),
        deps.directory.countUsersBy('grant', text, limit, after || undefined),
      ])
      const users = new Map(grants.counts.map(({ key, count }) => [key, count]))
      const all = [...new Set([...couchdb.names, ...arangodb.names, ...users.keys()])].toSorted(compareBytes)
      const names = all.slice(0, limit)
      const inCouchdb = names.filter((name) => couchdb.names.includes(name))
      const securities = askCouchdb ? await readSecurities(askCouchdb, inCouchdb) : undefined
      const databases = names.map((name) => ({
        name,
        isInArangodb: arangodb.names.includes(name),
        users: users.get(name) ?? 0,
        ...securities?.get(name),
      }))
      const hasMore = all.length > limit || grants.next !== undefined
      const next = hasMore ? names.at(-1) : undefined
      return {
        databases: role === undefined ? databases : databases.filter(({ security }) => namesRole(security, role)),
        couchdb: couchdb.state,
        arangodb: arangodb.state,
        ...(next !== undefined && { next }),
      }
    },
  }),
  'database.set-security': operation('PUT /databases/{name}/security', 'administrator', {
    summary: 'Change `_security` of a CouchDB database, unless it has changed since `expected` was read',
    body: SECURITY_CHANGE,
    reply: SECURITY,
    async run(deps, call) {
      const ask = findAsk(deps, call, 'document')
      if (!ask) throw badRequest('No CouchDB is behind the document door.')
      const path = toSecurityPath(nameOf(call))
      const { status, body } = await ask(path)
      if (status === 404) throw new Refusal('not_found')
      const now = readSecurity(status, body)
      if (JSON.stringify(now) !== JSON.stringify(readSecurity(200, call.body.expected))) throw new Refusal('conflict')
      const security = readSecurity(200, call.body.security)
      // other members are those of applications
      const sent = { ...(isJsonObject(body) ? body : {}), ...security }
      await requireChange(call.caller, deps.events)
      const written = await ask(path, sent)
      if (written.status !== 200) throw toRefused('CouchDB', written.status)
      deps.events.record('database.access', { database: nameOf(call) })
      return security
    },
  }),
}

type UpstreamReply = Awaited<ReturnType<UpstreamDatabase['askAs']>>
type Ask = (path: string, body?: object) => Promise<UpstreamReply>

/**
 * Asks the database behind a door as the administrator who asks. The owner of the process and superuser tokens have no
 * name. `undefined`: no database is there.
 */
function findAsk(deps: OperationDeps, { requester }: Call, door: 'document' | 'multi-model'): Ask | undefined {
  const upstream = requireServer(deps).findUpstream(door)
  const identity = { name: requester?.name ?? 'cardea', roles: [ADMIN_ROLE], isAdmin: true, grants: new Map() }
  return upstream && ((path, body) => upstream.askAs(identity, { path, body, maxBytes: MAX_BYTES }))
}

interface NameRange {
  readonly text: string
  readonly after: string
  readonly limit: number
}

interface Listed {
  readonly names: readonly string[]
  readonly state: DatabasePageView['couchdb']
}

/** A database that cannot be reached leaves the other rows as they are. */
async function listFrom(what: string, listed: Promise<readonly string[]> | undefined): Promise<Listed> {
  try {
    return { names: (await listed) ?? [], state: { isSet: listed !== undefined } }
  } catch (error) {
    return { names: [], state: { isSet: true, problem: describeProblem(what, error) } }
  }
}

/** Throws what is not an expected failure. */
function describeProblem(what: string, error: unknown): string {
  if (!(error instanceof Refusal)) throw error
  return error.reason ?? PROBLEMS[error.code]?.(what) ?? `${what}: ${error.message}`
}

const PROBLEMS: Readonly<Record<string, (what: string) => string>> = {
  upstream_unavailable: (what) => `${what} does not answer. Check that it is running.`,
  upstream_timeout: (what) => `${what} did not answer in time.`,
  upstream_failed: (what) => `${what} gave no usable answer.`,
  forbidden: (what) => `${what} does not accept the identity of Cardea. The page Nodes says what to check.`,
}

/** One more than the page, which shows whether there is another. */
async function listDocumentNames(ask: Ask, { text, after, limit }: NameRange) {
  const query = new URLSearchParams({
    start_key: JSON.stringify(after === '' ? text : after),
    end_key: JSON.stringify(`${text}${LAST}`),
    limit: String(limit + 2),
  })
  const names = readNames('CouchDB', await ask(`/_all_dbs?${query}`))
  return names.filter((name) => name !== after).slice(0, limit + 1)
}

async function listMultiModelNames(ask: Ask, { text, after, limit }: NameRange) {
  const { status, body } = await ask('/_db/_system/_api/database')
  const names = readNames('ArangoDB', { status, body: isJsonObject(body) ? body['result'] : undefined })
  return names
    .filter((name) => name.startsWith(text) && compareBytes(name, after) > 0)
    .toSorted(compareBytes)
    .slice(0, limit + 1)
}

function readNames(what: string, { status, body }: UpstreamReply): readonly string[] {
  if (status !== 200) throw toRefused(what, status)
  if (Array.isArray(body) && body.every((name) => typeof name === 'string')) return body
  throw new Refusal('upstream_failed')
}

const toRefused = (what: string, status: number): Refusal =>
  status === 401 || status === 403
    ? new Refusal('forbidden', { reason: PROBLEMS['forbidden']?.(what) ?? what })
    : new Refusal('upstream_failed', { reason: `${what} answered with status ${status}.` })

const toSecurityPath = (name: string): string => `/${encodeURIComponent(name)}/_security`

/** So many requests at a time. */
const CONCURRENCY = 8

async function readSecurities(ask: Ask, names: readonly string[]) {
  const found = new Map<string, Pick<DatabaseView, 'security' | 'securityProblem'>>()
  const waiting = names.values()
  const work = async () => {
    // all of them take the next name
    for (const name of waiting) {
      try {
        const { status, body } = await ask(toSecurityPath(name))
        found.set(name, { security: readSecurity(status, body) })
      } catch (error) {
        // A database may be deleted meanwhile, be too slow or reject this administrator. The other rows stay as they are.
        found.set(name, { securityProblem: describeProblem('CouchDB', error) })
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return found
}

const namesRole = (security: SecurityView | undefined, role: string): boolean =>
  security !== undefined && (security.admins.roles.includes(role) || security.members.roles.includes(role))

const UNREADABLE = { reason: 'The `_security` of the database in CouchDB is not made of lists of names and roles.' }

/** With lists where CouchDB leaves them out, so that two values can be compared. */
function readSecurity(status: number, body: unknown): SecurityView {
  if (status !== 200) throw toRefused('CouchDB', status)
  if (!isJsonObject(body)) throw new Refusal('upstream_failed', UNREADABLE)
  return { admins: readHolders(body['admins']), members: readHolders(body['members']) }
}

/** What is there but not understood is refused: shown as empty, it would be overwritten. */
function readHolders(value: unknown = {}): SecurityView['admins'] {
  if (!isJsonObject(value)) throw new Refusal('upstream_failed', UNREADABLE)
  return { names: readTexts(value['names']), roles: readTexts(value['roles']) }
}

function readTexts(value: unknown = []): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw new Refusal('upstream_failed', UNREADABLE)
}
