import { RANGES } from '../../../observe/total-series.ts'
import type { OperationName } from '../operations.ts'
import { type Description, flag, listOf, mapOf, named, nullable, number, object, oneOf, text, whole } from './schema.ts'
import { UPSTREAM } from './server.ts'

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
    signIns: whole(),
    refusals: whole('Refused sign-ins.'),
    requests: whole('At both doors.'),
    serverErrors: whole('Responses with a status of 5xx.'),
    lockouts: whole('Limits on password checks that were reached.'),
    revokedSessions: whole('Revocations by administrators and by changes of accounts.'),
    signOuts: whole(),
  }),
)

const HEALTH = named(
  'OverviewHealth',
  object({
    node: text(),
    store: text('The engine.'),
    parts: listOf(
      object({ name: text(), isWorking: flag(), problem: nullable(text()) }),
      'What Cardea cannot work without: the store, its keys, the upstream servers.',
    ),
    upstreams: listOf(UPSTREAM),
    nodes: nullable(object({ total: whole(), ready: whole() }), 'null: the store cannot be read.'),
    certificates: listOf(object({ listener: text(), expiresAt: whole() })),
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
    startedAt: whole('Seconds since the epoch.'),
    seenAt: whole('When it last wrote its state; seconds since the epoch.'),
    lagMs: number('The age of what it knows of changes that other nodes made.'),
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
    query: { 'range?': oneOf(Object.keys(RANGES), 'How far back; 1h unless given.') },
    reply: object({
      range: oneOf(Object.keys(RANGES)),
      from: whole('The beginning of the first step, in seconds since the epoch.'),
      now: whole('The last step may not be over.'),
      stepSeconds: whole('The time from one value of a line to the next.'),
      series: SERIES,
      totals: SUMS,
      lockedAccounts: whole('Accounts that some client cannot sign in to now.'),
      refusedUnknownNames: whole('Names without an account that some client cannot try any more now.'),
      health: HEALTH,
    }),
  },
  'node.list': {
    summary: 'List the nodes that use this store',
    reply: object({ now: whole(), nodes: listOf(NODE) }),
  },
} as const satisfies Partial<Record<OperationName, Description>>
