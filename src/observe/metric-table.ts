/**
 * Every metric Cardea exposes. A row describes one metric completely: the scrape and the reference page derive from it,
 * and a test compares the dashboard and the alert rules with it. Names are never reused, because alerts name them.
 *
 * The values of a label come from tables and options, never from a client: their number is bounded.
 */

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The meaning of each label. */
  readonly labels: Readonly<Record<string, string>>
  /** Upper bounds; of histograms only. */
  readonly buckets?: readonly number[]
}

const DOOR = { door: '`document`, `multi-model`, `admin`, `metrics` or `control` (the control socket).' } as const
const DESTINATION = {
  destination: '`store`, `checkpoint`, or the destination as configured; of a webhook only scheme and host.',
} as const
const SERVER = {
  door: 'The door in front of the server; `service` for services.',
  server: 'Its URL, without user and password.',
} as const

/** From a tenth of a millisecond to ten seconds. */
const SHORT_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** From a millisecond to a minute. */
const LONG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export const METRICS = {
  // requests
  cardea_requests_total: {
    type: 'counter',
    help: 'Requests that got a reply.',
    labels: {
      ...DOOR,
      route:
        'Pattern of the route that answered, for example `/_session`; `forwarded` if an upstream server or a service did; `none` if the request was rejected before a route was chosen, or there is no route.',
      method: 'Method, or `other`.',
      status: 'Class of the status: `1xx` to `5xx`.',
      handler: 'Credential handler that authenticated the request, for example `cookie`; or `anonymous`.',
    },
  },
  cardea_decision_seconds: {
    type: 'histogram',
    help: 'Time from the head of a request to its reply; of a forwarded one, until it is forwarded.',
    labels: DOOR,
    buckets: SHORT_SECONDS,
  },
  cardea_upstream_seconds: {
    type: 'histogram',
    help: 'Time from forwarding a request to the head of the response.',
    labels: DOOR,
    buckets: LONG_SECONDS,
  },
  cardea_connections: { type: 'gauge', help: 'Open connections of clients.', labels: DOOR },
  cardea_connections_refused_total: {
    type: 'counter',
    help: 'Connections above `door.max-connections` or `door.max-connections-per-client`, and requests of trusted proxies for such a client.',
    labels: DOOR,
  },
  // sign-ins
  cardea_sign_ins_total: {
    type: 'counter',
    help: 'Sign-ins: new sessions and tokens, and the first use of credentials that are sent with every request.',
    labels: { ...DOOR, outcome: '`accepted` or `refused`.', handler: 'Credential handler, or `none`.' },
  },
  cardea_sessions_revoked_total: {
    type: 'counter',
    help: 'Revocations of sessions by this node.',
    labels: { what: '`one` session, `all` sessions of a user, or `sign-out`.' },
  },
  cardea_limits_reached_total: {
    type: 'counter',
    help: 'Limits on password checks and sign-ups that were reached.',
    labels: { limit: '`lockout`, `account`, `peer`, `sign-up` or `all-sign-ups`.' },
  },
  cardea_security_events_total: {
    type: 'counter',
    help: 'Security events, by kind.',
    labels: { event: 'Kind of the event, see security-events.md.' },
  },
  cardea_audit_waiting: { type: 'gauge', help: 'Audit records that are not written yet.', labels: DESTINATION },
  cardea_audit_lost_total: {
    type: 'counter',
    help: 'Audit records that were lost because too many were waiting.',
    labels: DESTINATION,
  },
  cardea_audit_failing: {
    type: 'gauge',
    help: '1 while audit records are not written because of a failure.',
    labels: DESTINATION,
  },
  // passwords
  cardea_hash_jobs: {
    type: 'gauge',
    help: 'Passwords that are being hashed or wait for it.',
    labels: { state: '`running` or `waiting`.' },
  },
  cardea_hash_wait_seconds: {
    type: 'histogram',
    help: 'Time a password waited before it was hashed.',
    labels: {},
    buckets: LONG_SECONDS,
  },
  cardea_hash_refused_total: {
    type: 'counter',
    help: 'Passwords that were not hashed because too many waited (status 503).',
    labels: {},
  },
  // caches and store
  cardea_cache_uses_total: {
    type: 'counter',
    help: 'Uses of the caches.',
    labels: {
      cache: '`users`, `passwords` (verified ones) or `tokens` (verified ones of the multi-model door).',
      result: '`hit` or `miss`.',
    },
  },
  cardea_store_operations_total: {
    type: 'counter',
    help: 'Operations of the store.',
    labels: { access: '`read` or `write`.', outcome: '`ok`, or `failed` if the store did not respond.' },
  },
  cardea_store_seconds: {
    type: 'histogram',
    help: 'Time of an operation of the store.',
    labels: { access: '`read` or `write`.' },
    buckets: SHORT_SECONDS,
  },
  cardea_store_staleness_seconds: {
    type: 'gauge',
    help: 'Time since this node last read the changes of the store.',
    labels: {},
  },
  // upstream servers
  cardea_upstream_up: {
    type: 'gauge',
    help: '1 if the last request to the server, or the last health check, could connect, otherwise 0.',
    labels: SERVER,
  },
  cardea_upstream_connections: { type: 'gauge', help: 'Open connections to the server.', labels: SERVER },
  cardea_upstream_requests: { type: 'gauge', help: 'Requests in progress at the server.', labels: SERVER },
  cardea_upstream_retries_total: {
    type: 'counter',
    help: 'Requests that were sent again, to this or another server, after this server failed.',
    labels: SERVER,
  },
  cardea_open_streams: { type: 'gauge', help: 'Forwarded requests in progress, feeds included.', labels: {} },
  // keys and certificates
  cardea_certificate_expiry_timestamp_seconds: {
    type: 'gauge',
    help: 'When a certificate of a listener expires, in seconds since the epoch.',
    labels: { listener: 'URL of the listener.' },
  },
  cardea_secret_age_seconds: {
    type: 'gauge',
    help: 'Time since the newest file with a secret was changed.',
    labels: { option: 'Option that names the file or folder.' },
  },
  cardea_secret_reload_failed: {
    type: 'gauge',
    help: '1 if the last reload of the secrets failed and the previous ones are in use, otherwise 0.',
    labels: { secrets: '`tokens` or `upstream`.' },
  },
  // the process
  cardea_info: {
    type: 'gauge',
    help: 'Always 1.',
    labels: { version: 'Version of Cardea.', store: 'Engine of the store.' },
  },
  cardea_event_loop_delay_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop since the last scrape.',
    labels: { percentile: '`50`, `99` or `100`.' },
  },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.', labels: {} },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Used heap of JavaScript.', labels: {} },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the process.', labels: {} },
  process_open_fds: { type: 'gauge', help: 'Open files and sockets (Linux).', labels: {} },
  process_max_fds: { type: 'gauge', help: 'Limit of open files and sockets (Linux).', labels: {} },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'When the process started, in seconds since the epoch.',
    labels: {},
  },
} as const satisfies Readonly<Record<string, MetricRow>>

type Rows = typeof METRICS

export type MetricName = keyof Rows
export type MetricOf<T extends MetricRow['type']> = {
  [N in MetricName]: Rows[N]['type'] extends T ? N : never
}[MetricName]

export type Labels<N extends MetricName> = Readonly<Record<keyof Rows[N]['labels'] & string, string>>
