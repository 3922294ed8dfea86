// What the API shows of the server: health, totals, nodes and the audit trail.
import { HEALTH_STATES } from '../../../observe/health-states.ts'
import {
  flag,
  integer,
  listOf,
  mapOf,
  named,
  namedObject,
  nullable,
  number,
  object,
  oneOf,
  type Schema,
  type Static,
  text,
} from './schema.ts'

const PART = object({
  name: text(),
  state: oneOf(HEALTH_STATES, 'warning: the server is ready, but something needs attention.'),
  isWorking: flag('Whether its state is not failed.'),
  problem: nullable(text()),
})

const UPSTREAM = namedObject('Upstream', {
  door: text(),
  isReady: flag(),
  findings: listOf(object({ upstream: text(), problem: text(), reason: text(), check: text() })),
})

/** What the checks of the parts have found. */
const CHECKED = {
  isReady: flag('Whether all parts work, as /_cardea/ready.'),
  parts: listOf(
    PART,
    'What Cardea works with: the store, keys, upstream servers, token issuers, certificates, its processes, other nodes.',
  ),
  upstreams: listOf(UPSTREAM, 'Empty where no upstream is configured.'),
}

const PROCESS = namedObject('ServingProcess', {
  place: integer('From 1. No other process of the node has the same.'),
  pid: integer(),
  startedAt: integer('Seconds since the epoch.'),
  memoryBytes: integer('Resident memory.'),
  lagMs: number('The age of its knowledge of changes that others made.'),
})

export const HEALTH = namedObject('ServerHealth', {
  ...CHECKED,
  product: text(),
  version: text(),
  pid: integer('The process to send signals to.'),
  processes: listOf(PROCESS, 'Those that serve requests: one, or several that one other supervises.'),
  store: text(),
  stalenessMs: number('The age of its knowledge of changes that other nodes made.'),
  node: text(),
  startedAt: integer('Seconds since the epoch.'),
  listening: listOf(text(), 'The URLs of all listeners.'),
  needRestart: listOf(text(), 'Changed options that take effect at the next start.'),
  warnings: listOf(text(), 'Warnings about the configuration.'),
})
export type HealthView = Static<typeof HEALTH>

export const RELOAD_RESULT = namedObject('ReloadResult', {
  applied: flag('false: the configuration has problems, and the previous one is kept.'),
  problems: listOf(text()),
  changed: listOf(text()),
  needRestart: listOf(text()),
  secrets: listOf(text(), 'The options whose files had other secrets than before, each with their number.'),
})
export type ReloadResultView = Static<typeof RELOAD_RESULT>

const LINE = named('Line', listOf(nullable(number()), 'One value for each step; null: no node has written any.'))
export type LineView = Static<typeof LINE>

const LINES = mapOf(LINE, 'By name of the door or of the credential handler.')
const PERCENTILES = namedObject('Percentiles', { p50: LINE, p95: LINE })

const SERIES = namedObject('Series', {
  signIns: LINES,
  signInsByHandler: LINES,
  refusals: LINES,
  refusalsByHandler: LINES,
  requests: LINES,
  serverErrors: LINE,
  latencyMs: PERCENTILES,
  upstreamMs: PERCENTILES,
  lockouts: LINE,
  revokedSessions: LINE,
})

const SUMS = namedObject('Sums', {
  signIns: integer(),
  refusals: integer('Refused sign-ins.'),
  requests: integer('At both doors.'),
  serverErrors: integer('Responses with a status of 5xx, without those to probes of load balancers.'),
  lockouts: integer('How often a limit on password checks was reached.'),
  revokedSessions: integer('Revocations by administrators and by changes of accounts.'),
  signOuts: integer(),
})

const CERTIFICATE = object({ listener: text(), expiresAt: integer() })
export type CertificateView = Static<typeof CERTIFICATE>

const SECRET_AGE = object({ option: text(), ageSeconds: number('Since the newest file was changed.') })
export type SecretAgeView = Static<typeof SECRET_AGE>

const RECORDED = namedObject('RecordedCommand', {
  at: integer('Seconds since the epoch.'),
  records: integer('How many records it has read.'),
  'findings?': integer('Of a verification; 0: nothing was changed.'),
})
export type RecordedCommandView = Static<typeof RECORDED>

const OVERVIEW_HEALTH = namedObject('OverviewHealth', {
  node: text(),
  store: text('The engine.'),
  ...CHECKED,
  nodes: nullable(object({ total: integer(), ready: integer() }), 'null: the store cannot be read.'),
  certificates: listOf(CERTIFICATE),
  secrets: listOf(SECRET_AGE),
  lastBackup: nullable(RECORDED, 'The last `cardea backup` that the audit trail has; null: none.'),
  lastVerification: nullable(RECORDED, 'The last verification of the audit trail that it has; null: none.'),
  warnings: listOf(text()),
  needRestart: listOf(text()),
})
export type OverviewHealthView = Static<typeof OVERVIEW_HEALTH>

export const RANGE = oneOf(['1h', '24h', '7d', '30d'], 'The time range; by default 1h.')

export const OVERVIEW = namedObject('ServerOverview', {
  range: RANGE,
  from: integer('The beginning of the first step, in seconds since the epoch.'),
  now: integer('Seconds since the epoch. The last step may be incomplete.'),
  stepSeconds: integer('The time from one value of a line to the next.'),
  series: SERIES,
  totals: SUMS,
  lockedAccounts: integer('Accounts that are locked for at least one client.'),
  administrators: integer('How many there are.'),
  refusedUnknownNames: integer('Names that no account has and that are locked for at least one client.'),
  health: OVERVIEW_HEALTH,
})
export type OverviewView = Static<typeof OVERVIEW>

const SERVER_ERROR = namedObject('ServerError', {
  time: integer('Milliseconds since the epoch.'),
  request: text('Id of the request, as the log has it.'),
  door: text(),
  method: text(),
  path: text('Without the query.'),
  status: integer(),
  'error?': text('Code of the error. Absent if the upstream sent the response.'),
  'reason?': text('The error in words.'),
})
export type ServerErrorView = Static<typeof SERVER_ERROR>

export const SERVER_ERRORS = object({
  node: text(),
  errors: listOf(SERVER_ERROR, 'The last 100 of this node since its start, the newest first.'),
})

const NODE = namedObject('Node', {
  name: text('`node.name`.'),
  instance: text('Identifies one start of the server.'),
  version: text(),
  startedAt: integer('Seconds since the epoch.'),
  seenAt: integer('When it last wrote its state; seconds since the epoch.'),
  lagMs: number('The age of its knowledge of changes that other nodes made.'),
  keysHash: text('Equal on nodes that have the same secrets in the same order.'),
  isReady: flag('As `/_cardea/ready`.'),
  isLost: flag('Not seen for more than a minute: it does not run, or cannot reach the store. It is listed for a day.'),
  isThisNode: flag('Whether it is the node that sent the response.'),
  problems: listOf(text()),
  processes: listOf(PROCESS, 'Those that serve requests; empty for a node of an earlier version.'),
})
export type ServerNodeView = Static<typeof NODE>

export const NODES = object({ now: integer(), nodes: listOf(NODE) })

export const OUTCOME = oneOf(['success', 'failure'])

const RECORD_MEMBERS = object({
  id: text('Node and sequence.'),
  time: integer('Milliseconds since the epoch.'),
  sequence: integer('From 1, without a gap, for each node.'),
  node: text(),
  event: text('Kind of the event.'),
  outcome: OUTCOME,
  'actor?': text('Name of the identity that made the request.'),
  'subject?': text('The user or administrator that the event is about.'),
  'peer?': text('Address of the client.'),
  'door?': text(),
  'handler?': text('Credential handler.'),
  'request?': text('Id of the request.'),
  'reason?': text(),
  'count?': integer('How many, where the event is about a number of things.'),
  'names?': integer('The record is about so many names, and `subject` says so.'),
  previous: text('Hash of the record before.'),
  hash: text('SHA-256 of this record.'),
})
/** The other fields depend on the kind of event. */
export type AuditRecordView = Static<typeof RECORD_MEMBERS> & { readonly [field: string]: unknown }

const RECORD: Schema<AuditRecordView> = { title: 'AuditRecord', ...RECORD_MEMBERS, additionalProperties: true }

export const AUDIT_LIST = object({ records: listOf(RECORD), 'next?': text('The value of `after` for the next page.') })
export type AuditListView = Static<typeof AUDIT_LIST>

export const VERIFICATION = namedObject('Verification', {
  records: integer('How many records were read.'),
  findings: listOf(object({ node: text(), kind: text(), message: text() }), 'Empty: nothing was changed.'),
})
export type VerificationView = Static<typeof VERIFICATION>

const EVENT_KIND = object({
  event: text(),
  level: oneOf(['info', 'warn', 'error']),
  outcome: OUTCOME,
  sentence: text('A short name.'),
  story: text('A sentence; `{field}` means the value of that field.'),
  fields: listOf(object({ name: text(), type: oneOf(['text', 'number', 'list']), help: text() })),
})
export type AuditEventKindView = Static<typeof EVENT_KIND>

export const AUDIT_EVENTS = object({ events: listOf(EVENT_KIND) })
