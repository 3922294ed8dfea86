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
  /** What the values of several processes of one server become; of gauges only. `own`: that of the process asked. */
  readonly joined?: 'sum' | 'lowest' | 'highest' | 'own'
}

const DOOR = { door: '`document`, `multi-model`, `admin`, `metrics` or `control` (the control socket).' } as const
const DESTINATION = {
  destination: '`store`, `checkpoint`, or the destination as configured; of a webhook only scheme and host.',
} as const
const JOB = { kind: 'Kind of the job, for example `user-database`.' } as const
const SERVER = {
  door: 'The door in front of the server; `service` for services.',
  server: 'Its URL, without user and password.',
} as const

/** From a tenth of a millisecond to ten seconds. */
const SHORT_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** From a millisecond to a minute. */
const LONG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const counter = <const L extends MetricRow['labels']>(help: string, labels: L) =>
  ({ type: 'counter', help, labels }) as const
const gauge = <const L extends MetricRow['labels']>(help: string, labels: L, joined: MetricRow['joined'] = 'sum') =>
  ({ type: 'gauge', help, labels, joined }) as const
const histogram = <const L extends MetricRow['labels']>(help: string, labels: L, buckets: readonly number[]) =>
  ({ type: 'histogram', help, labels, buckets }) as const

export const METRICS = {
  // requests
  cardea_requests_total: counter('Requests that got a reply.', {
    ...DOOR,
    route:
      'Pattern of the route that answered, for example `/_session`; `forwarded` if an upstream server or a service did; `none` if the request was rejected before a route was chosen, or there is no route.',
    method: 'Method, or `other`.',
    status: 'Class of the status: `1xx` to `5xx`.',
    handler: 'Credential handler that authenticated the request, for example `cookie`; or `anonymous`.',
  }),
  cardea_decision_seconds: histogram(
    'Time from the head of a request to its reply; of a forwarded one, until it is forwarded.',
    DOOR,
    SHORT_SECONDS,
  ),
  cardea_upstream_seconds: histogram('Time from forwarding a request to the head of the response.', DOOR, LONG_SECONDS),
  cardea_connections: gauge('Open connections of clients.', DOOR),
  cardea_connections_refused_total: counter(
    'Connections above `door.max-connections` or `door.max-connections-per-client`, and requests of trusted proxies for such a client.',
    DOOR,
  ),
  cardea_proxy_headers_refused_total: counter(
    'Connections closed because they did not begin with a valid header of the PROXY protocol from a trusted peer (`door.proxy-protocol`).',
    DOOR,
  ),
  // sign-ins
  cardea_sign_ins_total: counter(
    'Sign-ins: new sessions and tokens, and the first use of credentials that are sent with every request.',
    { ...DOOR, outcome: '`accepted` or `refused`.', handler: 'Credential handler, or `none`.' },
  ),
  cardea_sessions_revoked_total: counter('Revocations of sessions by this node.', {
    what: '`one` session, `all` sessions of a user, or `sign-out`.',
  }),
  cardea_limits_reached_total: counter('Limits on password checks and sign-ups that were reached.', {
    limit: '`lockout`, `account`, `peer`, `sign-up` or `all-sign-ups`.',
  }),
  cardea_security_events_total: counter('Security events, by kind.', {
    event: 'Kind of the event, see security-events.md.',
  }),
  cardea_audit_waiting: gauge('Audit records that are not written yet.', DESTINATION),
  cardea_audit_lost_total: counter('Audit records that were lost because too many were waiting.', DESTINATION),
  cardea_audit_failing: gauge('1 while audit records are not written because of a failure.', DESTINATION, 'highest'),
  // passwords
  cardea_hash_jobs: gauge('Passwords that are being hashed or wait for it.', { state: '`running` or `waiting`.' }),
  cardea_hash_wait_seconds: histogram('Time a password waited before it was hashed.', {}, LONG_SECONDS),
  cardea_hash_refused_total: counter('Passwords that were not hashed because too many waited (status 503).', {}),
  // caches and store
  cardea_cache_uses_total: counter('Uses of the caches.', {
    cache: '`users`, `passwords` (verified ones) or `tokens` (verified ones of the multi-model door).',
    result: '`hit` or `miss`.',
  }),
  cardea_store_operations_total: counter('Operations of the store.', {
    access: '`read` or `write`.',
    outcome: '`ok`, or `failed` if the store did not respond.',
  }),
  cardea_store_seconds: histogram(
    'Time of an operation of the store.',
    { access: '`read` or `write`.' },
    SHORT_SECONDS,
  ),
  cardea_store_staleness_seconds: gauge('Time since this node last read the changes of the store.', {}, 'highest'),
  cardea_clock_skew_seconds: gauge(
    "What the clock of this machine is ahead of the store's time. Negative: it is behind.",
    {},
    'own',
  ),
  cardea_deletion_lag_seconds: gauge(
    'So much later than usual expired records are deleted: after a downtime, or because the clock is ahead.',
    {},
    'highest',
  ),
  cardea_jobs: gauge('Jobs in the store that are not done yet, of all nodes.', JOB, 'highest'),
  cardea_job_runs_total: counter('Attempts to do a job.', {
    ...JOB,
    outcome: '`done`, `failed` (it is tried again) or `given up`.',
  }),
  // upstream servers
  cardea_upstream_up: gauge(
    '1 if the last request to the server, or the last health check, could connect, otherwise 0.',
    SERVER,
    'lowest',
  ),
  cardea_upstream_connections: gauge('Open connections to the server.', SERVER),
  cardea_upstream_requests: gauge('Requests in progress at the server.', SERVER),
  cardea_upstream_retries_total: counter(
    'Requests that were sent again, to this or another server, after this server failed.',
    SERVER,
  ),
  cardea_workers: gauge('Workers that serve requests, of those of `server.workers`.', {}, 'own'),
  cardea_open_streams: gauge('Forwarded requests in progress, feeds included.', {}),
  // keys and certificates
  cardea_certificate_expiry_timestamp_seconds: gauge(
    'When a certificate of a listener expires, in seconds since the epoch.',
    { listener: 'URL of the listener.' },
    'lowest',
  ),
  cardea_secret_age_seconds: gauge(
    'Time since the newest file with a secret was changed.',
    { option: 'Option that names the file or folder.' },
    'own',
  ),
  cardea_secret_reload_failed: gauge(
    '1 if the last reload of the secrets failed and the previous ones are in use, otherwise 0.',
    { secrets: '`tokens` or `upstream`.' },
    'highest',
  ),
  cardea_health: gauge(
    '1 for the state of each part, as /_cardea/ready has it, and 0 for its other states.',
    {
      part: 'As in /_cardea/ready, for example `store` or `upstream.document`.',
      state: '`ok`, `warning` (the server is ready) or `failed` (it is not).',
    },
    'own',
  ),
  // the process
  cardea_info: gauge('Always 1.', { version: 'Version of Cardea.', store: 'Engine of the store.' }, 'own'),
  cardea_event_loop_delay_seconds: gauge(
    'Delay of the event loop since the last scrape.',
    { percentile: '`50`, `99` or `100`.' },
    'highest',
  ),
  process_resident_memory_bytes: gauge('Resident memory.', {}),
  nodejs_heap_size_used_bytes: gauge('Used heap of JavaScript.', {}),
  process_cpu_seconds_total: counter('CPU time of the process.', {}),
  process_open_fds: gauge('Open files and sockets (Linux).', {}, 'highest'),
  process_max_fds: gauge('Limit of open files and sockets (Linux).', {}, 'lowest'),
  process_start_time_seconds: gauge('When the server started, in seconds since the epoch.', {}, 'own'),
} as const satisfies Readonly<Record<string, MetricRow>>

type Rows = typeof METRICS

export type MetricName = keyof Rows
export type MetricOf<T extends MetricRow['type']> = {
  [N in MetricName]: Rows[N]['type'] extends T ? N : never
}[MetricName]

export type Labels<N extends MetricName> = Readonly<Record<keyof Rows[N]['labels'] & string, string>>
