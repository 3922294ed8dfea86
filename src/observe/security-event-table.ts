/**
 * The security events that the core records; modules add theirs. A row describes one kind of event completely: the log, the audit trail and the
 * reference page derive from it. Kinds are never renamed or reused, because alerts and queries name them.
 */

/** The value of one field. */
export interface EventField {
  readonly type: 'text' | 'number' | 'list'
  readonly help: string
  readonly isOptional?: true
}

export interface EventRow {
  readonly level: 'info' | 'warn' | 'error'
  readonly outcome: 'success' | 'failure'
  /** The message of the log line. */
  readonly sentence: string
  /** The audit trail as a person reads it; `{field}` becomes the value of that field. */
  readonly story: string
  /** `request`: the record names the request during which it happened. `server`: no client caused it. */
  readonly scope: 'request' | 'server'
  /** Further events of this kind with the same value of this field become one record per minute, with a count. */
  readonly groupBy?: 'peer' | 'upstream'
  readonly fields: Readonly<Record<string, EventField>>
}

/** Recorded in place of a name that no account has: clients put passwords and tokens in the wrong field. */
export const UNKNOWN_NAME = '(unknown name)'

const text = (help: string) => ({ type: 'text', help }) as const
const number = (help: string) => ({ type: 'number', help }) as const
const list = (help: string) => ({ type: 'list', help }) as const
const optional = <F extends EventField>(field: F) => ({ ...field, isOptional: true }) as const

const USER = { subject: text('Name of the user.') } as const
const ADMINISTRATOR = { subject: text('Name of the administrator.') } as const
const REASON = { reason: text('Why, in words for the operator. The client is not shown this text.') } as const
const GRANT = {
  ...USER,
  database: text('Database, or `*`.'),
  collection: optional(text('Collection, or `*`. Absent for a grant on the database.')),
} as const
const SOURCE = { source: text('Option or file that was read.') } as const
const DESTINATION = {
  destination: text('`store`, `checkpoint`, or the destination as configured; of a webhook only scheme and host.'),
} as const
const UPSTREAM = { upstream: text('URL of the upstream server, without user and password.') } as const
const FAILED_UPSTREAM = { ...UPSTREAM, ...REASON, check: text('What to check.') } as const

const rowOf =
  (level: EventRow['level'], outcome: EventRow['outcome'], scope: EventRow['scope']) =>
  <const F extends EventRow['fields']>(sentence: string, story: string, fields: F) => {
    return { level, outcome, sentence, story, scope, fields }
  }

/** What a client did. */
const done = rowOf('info', 'success', 'request')
const notable = rowOf('warn', 'success', 'request')
const refused = rowOf('warn', 'failure', 'request')
/** What happened to the server. */
const normal = rowOf('info', 'success', 'server')
const failure = rowOf('error', 'failure', 'server')

/** What the events of modules are made of. */
export const EVENT = { done, notable, refused, normal, failure, text, number, list, optional, USER }

export const CORE_EVENTS = {
  // sign-in
  'sign-in.accepted': done('sign-in accepted', '{subject} signed in', {
    subject: text('Name the client signed in as.'),
    opened: text('`session`, `token`, or `first use` of a credential that is sent with every request.'),
  }),
  'sign-in.refused': {
    ...refused('sign-in refused', 'Sign-in of {subject} was refused', {
      subject: optional(
        text(
          'Name the client gave, if a user or administrator has it; otherwise `(unknown name)`. Absent where the credential has no name.',
        ),
      ),
      ...REASON,
    }),
    groupBy: 'peer',
  },
  'sign-out': done('signed out', '{subject} signed out', USER),
  'session.revoked': done(
    'all sessions and tokens of a user revoked',
    'All sessions and tokens of {subject} were revoked',
    { ...USER, ...REASON },
  ),
  'session.ended': done('one session of a user revoked', 'One session of {subject} was ended', {
    ...USER,
    openedBy: text('Door that opened the session.'),
  }),
  'session.reused': refused(
    'session ended, because its renewal token was used twice',
    'A renewal token of {subject} was used twice: its session was ended',
    USER,
  ),
  'limit.started': refused(
    'limit on password checks or sign-ups reached',
    'The limit {limit} was reached: attempts of {subject} are refused for some time',
    {
      limit: text('Which limit: `lockout`, `account`, `peer`, `sign-up` (of one address) or `all-sign-ups`.'),
      subject: optional(
        text('Account that is limited, or `(unknown name)`. Absent where the limit is not on an account.'),
      ),
      seconds: optional(number('For how long, if that is known.')),
    },
  ),
  'limit.ended': normal('lockout ended', 'The lockout of {subject} ended', {
    limit: text('`lockout`.'),
    subject: text('Account that was locked, or `(unknown name)`.'),
  }),
  'limit.lifted': done('limit on password checks lifted', 'The limit on sign-ins of {subject} was lifted', {
    subject: text('Account whose failures are forgotten.'),
  }),
  // users, administrators, grants, access tokens
  'user.created': done('user created', 'User {subject} was created', USER),
  'user.changed': done('user changed', 'User {subject} was changed: {changed}', {
    ...USER,
    changed: list(
      'What changed: `password`, `roles`, `active`, `expiry`, `password change`, `totp`, `members`, `extra`, `config`.',
    ),
  }),
  'user.removed': done('user removed', 'User {subject} was removed', USER),
  'user.erased': notable(
    'name of a removed user erased from the audit trail',
    'A removed user became {subject} in {records} audit records',
    {
      subject: text('What the records show in place of the name.'),
      records: number('In how many records.'),
    },
  ),
  'administrator.created': notable('administrator created', 'Administrator {subject} was created', ADMINISTRATOR),
  'administrator.changed': notable(
    'password of an administrator changed',
    'The password of administrator {subject} was changed',
    ADMINISTRATOR,
  ),
  'administrator.totp': done(
    'second factor of an administrator set or removed',
    'The second factor of administrator {subject} was changed',
    { ...ADMINISTRATOR, action: text('`set` or `removed`.') },
  ),
  'administrator.removed': notable('administrator removed', 'Administrator {subject} was removed', ADMINISTRATOR),
  'grant.created': done('grant created', '{subject} was granted {access} on {database}', {
    ...GRANT,
    access: text('`rw`, `ro` or `none`.'),
  }),
  'grant.changed': done('grant changed', 'The grant of {subject} on {database} was changed from {old} to {access}', {
    ...GRANT,
    access: text('`rw`, `ro` or `none`.'),
    old: text('Access before.'),
  }),
  'grant.removed': done('grant removed', 'The grant of {subject} on {database} was removed', {
    ...GRANT,
    old: text('Access before.'),
  }),
  'recovery-codes.created': done('recovery codes created', 'Recovery codes of {subject} were created', {
    subject: text('Name of the user or administrator.'),
  }),
  'recovery-code.used': notable('recovery code used in place of a one-time code', '{subject} used a recovery code', {
    subject: text('Name of the user or administrator.'),
    left: number('How many codes are left.'),
  }),
  'access-token.created': done('access token created', 'Access token {token} of {subject} was created', {
    ...USER,
    token: text('Name of the access token.'),
  }),
  'access-token.removed': done('access token removed', 'Access token {token} of {subject} was removed', {
    ...USER,
    token: text('Name of the access token.'),
  }),
  'users.imported': done(
    'users imported',
    'Users were imported: {created} created, {replaced} replaced, {kept} kept, {refused} refused',
    {
      created: number('Users created.'),
      replaced: number('Users replaced.'),
      kept: number('Users that stayed as they were.'),
      refused: number('Users that were refused.'),
    },
  ),
  'users.exported': notable(
    'users exported with their password hashes',
    '{count} users were exported with their password hashes',
    { count: number('Users in the response.') },
  ),
  'database.access': notable(
    'access to a CouchDB database changed',
    'The access to the database {database} was changed',
    { database: text('Name of the database whose _security was changed.') },
  ),
  // configuration and keys
  'settings.exported': notable('run-time settings exported', '{count} run-time settings were exported', {
    count: number('Settings in the response. The owner of the process gets secrets too.'),
  }),
  'option.changed': done('option changed', 'Option {option} was changed from {old} to {new}', {
    option: text('`section.option`.'),
    old: optional(text('Value before; `***` for a secret. Absent where it was not set.')),
    new: optional(text('Value now; `***` for a secret. Absent where it was removed.')),
  }),
  'configuration.reloaded': done('configuration reloaded', 'The configuration was reloaded; changed: {changed}', {
    changed: list('Options whose value changed.'),
  }),
  'reload.failed': rowOf('error', 'failure', 'request')(
    'reload failed; the previous values stay in use',
    'Reload of {source} failed; the previous values stay in use',
    { ...SOURCE, ...REASON },
  ),
  'secrets.reloaded': done('secrets reloaded', 'The secrets of {source} were reloaded', SOURCE),
  'secrets.rotated': done('secret rotation advanced by one step', 'Secret rotation: {file} was {step}', {
    step: text('`added`, `activated` or `removed`.'),
    file: text('Name of the file with the secret.'),
  }),
  'key-set.reloaded': done('key set reloaded', 'The key set {source} was reloaded', SOURCE),
  'certificate.reloaded': done('certificate reloaded', 'The certificate {source} was reloaded', SOURCE),
  'certificate.expired': failure(
    'the certificate of a listener is out of date, and clients reject it: renew it',
    'The certificate {source} is out of date',
    { ...SOURCE, ...REASON },
  ),
  // the server and what it depends on
  'server.started': normal('server started', 'The server started with version {version}', {
    version: text('Version of Cardea.'),
    listening: list('Addresses of the doors.'),
  }),
  'server.stopped': normal('server stopped', 'The server stopped', {}),
  'store.lost': failure('store cannot be reached', 'The store cannot be reached', REASON),
  'store.back': normal('store can be reached again', 'The store can be reached again, after {seconds} seconds', {
    seconds: number('For how long it could not be reached.'),
  }),
  'store.saved': done('backup made', 'A backup of the store was made, with {records} records', {
    records: number('How many records the backup has.'),
  }),
  'store.restored': rowOf('warn', 'success', 'server')(
    'store restored from a backup',
    'The store was restored from a backup of {createdAt}, with {records} records',
    {
      createdAt: text('When the backup was made.'),
      records: number('How many records the backup has.'),
      sha256: text('SHA-256 of its content, as `cardea restore` prints it.'),
    },
  ),
  'audit.verified': done(
    'audit trail verified',
    'The audit trail was verified: {findings} findings in {records} records',
    {
      records: number('How many records were read.'),
      findings: number('How many changes were found; 0: none.'),
    },
  ),
  'audit.failed': failure('audit records cannot be written', 'Audit records cannot be written to {destination}', {
    ...DESTINATION,
    ...REASON,
  }),
  'audit.recovered': normal(
    'audit records can be written again',
    'Audit records can be written to {destination} again, after {seconds} seconds',
    { ...DESTINATION, seconds: number('For how long they could not be written.') },
  ),
  'audit.lost': failure(
    'audit records were lost because too many were waiting',
    '{count} audit records for {destination} were lost, because too many were waiting',
    { ...DESTINATION, count: number('How many.') },
  ),
  'audit.broken': failure(
    'the audit trail in the store does not continue the last checkpoint',
    'The audit trail in the store does not continue the last checkpoint',
    {
      ...REASON,
      expected: number('Sequence of the last checkpoint.'),
      found: number('Sequence of the last record in the store. A restored backup has an earlier one.'),
    },
  ),
  'audit.unchecked': failure(
    'the audit trail in the store could not be compared with the last checkpoint',
    'The audit trail in the store could not be compared with the last checkpoint',
    REASON,
  ),
  'upstream.token-rejected': {
    ...failure(
      'upstream server rejected the identity that Cardea signed',
      'Upstream {upstream} rejected the identity that Cardea signed',
      { ...UPSTREAM, ...REASON, check: text('Options and configuration lines to compare.') },
    ),
    groupBy: 'upstream',
  },
  'upstream.down': {
    ...failure('upstream server cannot be reached', 'Upstream {upstream} cannot be reached', FAILED_UPSTREAM),
    groupBy: 'upstream',
  },
  'upstream.failed': {
    ...failure('upstream server gave no valid response', 'Upstream {upstream} gave no valid response', FAILED_UPSTREAM),
    groupBy: 'upstream',
  },
  'upstream.up': {
    ...normal(
      'upstream server can be reached again',
      'Upstream {upstream} can be reached again, after {seconds} seconds',
      { ...UPSTREAM, seconds: number('For how long it could not be reached.') },
    ),
  },
} as const satisfies Readonly<Record<string, EventRow>>

type CoreEvents = typeof CORE_EVENTS

/** All security events: each module extends this interface with its own. */
export interface EventRows extends CoreEvents {}

export type EventKind = keyof EventRows
/** `src/modules.ts` has it. */
export type EventTable = { readonly [K in EventKind]: EventRows[K] }

type ValueOf<F> = F extends { readonly type: 'number' }
  ? number
  : F extends { readonly type: 'list' }
    ? readonly string[]
    : string
type OptionalNames<Fields> = {
  [N in keyof Fields]: Fields[N] extends { readonly isOptional: true } ? N : never
}[keyof Fields]

type GivenFields<Fields> = {
  readonly [N in Exclude<keyof Fields, OptionalNames<Fields>>]: ValueOf<Fields[N]>
} & { readonly [N in OptionalNames<Fields>]?: ValueOf<Fields[N]> | undefined }

/** The request during which an event happened: its sender and its door. */
export interface OriginFields {
  /** Name of the identity that made the request. */
  readonly actor?: string | undefined
  /** Address of the client after the trust decision. */
  readonly peer?: string | undefined
  readonly door?: string | undefined
  /** The credential handler that accepted or rejected the credential. */
  readonly handler?: string | undefined
  /** Id of the request. */
  readonly request?: string | undefined
}

/** The fields of one kind. Those of the request are added, unless the caller gives them. */
export type EventFields<K extends EventKind> = GivenFields<EventTable[K]['fields']> & OriginFields
