import { RANGES } from '../../../observe/total-series.ts'
import type { OperationName } from '../operations.ts'
import {
  type Description,
  flag,
  integer,
  listOf,
  mapOf,
  named,
  nullable,
  number,
  object,
  oneOf,
  text,
} from './schema.ts'
import { CHECKED } from './server.ts'

const LINE = named('Line', listOf(nullable(number()), 'One value for each step; null: no node has written any.'))
const LINES = mapOf(LINE, 'By name of the door or of the credential handler.')
const PERCENTILES = named('Percentiles', object({ p50: LINE, p95: LINE }))

const SERIES = named(
  'Series',
  object({
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
  }),
)

const SUMS = named(
  'Sums',
  object({
    signIns: integer(),
    refusals: integer('Refused sign-ins.'),
    requests: integer('At both doors.'),
    serverErrors: integer('Responses with a status of 5xx.'),
    lockouts: integer('How often a limit on password checks was reached.'),
    revokedSessions: integer('Revocations by administrators and by changes of accounts.'),
    signOuts: integer(),
  }),
)

const HEALTH = named(
  'OverviewHealth',
  object({
    node: text(),
    store: text('The engine.'),
    ...CHECKED,
    nodes: nullable(object({ total: integer(), ready: integer() }), 'null: the store cannot be read.'),
    certificates: listOf(object({ listener: text(), expiresAt: integer() })),
    secrets: listOf(object({ option: text(), ageSeconds: number('Since the newest file was changed.') })),
    warnings: listOf(text()),
    needRestart: listOf(text()),
  }),
)

const NODE = named(
  'Node',
  object({
    name: text(),
    instance: text('Identifies one start of the process.'),
    version: text(),
    startedAt: integer('Seconds since the epoch.'),
    seenAt: integer('When it last wrote its state; seconds since the epoch.'),
    lagMs: number('The age of its knowledge of changes that other nodes made.'),
    keysHash: text('Equal on nodes that have the same secrets in the same order.'),
    isReady: flag(),
    isLost: flag('It does not run, or cannot reach the store.'),
    isThisNode: flag(),
    problems: listOf(text()),
  }),
)

export const OVERVIEW_DESCRIPTIONS = {
  overview: {
    summary: 'Show sign-ins, requests and health',
    query: { 'range?': oneOf(Object.keys(RANGES), 'The time range; by default 1h.') },
    reply: object({
      range: oneOf(Object.keys(RANGES)),
      from: integer('The beginning of the first step, in seconds since the epoch.'),
      now: integer('Seconds since the epoch. The last step may be incomplete.'),
      stepSeconds: integer('The time from one value of a line to the next.'),
      series: SERIES,
      totals: SUMS,
      lockedAccounts: integer('Accounts that are locked for at least one client.'),
      refusedUnknownNames: integer('Names that no account has and that are locked for at least one client.'),
      health: HEALTH,
    }),
  },
  'node.list': {
    summary: 'List the nodes that use this store',
    reply: object({ now: integer(), nodes: listOf(NODE) }),
  },
} as const satisfies Partial<Record<OperationName, Description>>
