/**
 * Every security event Cardea records. A row describes one kind of event completely: the log, the audit trail and the
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

export const SECURITY_EVENTS = {
  // sign-in
  'sign-in.accepted': {
    level: 'info',
    outcome: 'success',
    sentence: 'sign-in accepted',
    story: '{subject} signed in',
    scope: 'request',
    fields: {
      subject: text('Name the client signed in as.'),
      opened: text('`session`, `token`, or `first use` of a credential that is sent with every request.'),
    },
  },
  'sign-in.refused': {
    level: 'warn',
    outcome: 'failure',
    sentence: 'sign-in refused',
    story: 'Sign-in of {subject} was refused',
    scope: 'request',
    groupBy: 'peer',
    fields: {
      subject: optional(
        text(
          'Name the client gave, if a user or administrator has it; otherwise `(unknown name)`. Absent where the credential has no name.',
        ),
      ),
      ...REASON,
    },
  },
  'sign-out': {
    level: 'info',
    outcome: 'success',
    sentence: 'signed out',
    story: '{subject} signed out',
    scope: 'request',
    fields: USER,
  },
  'session.revoked': {
    level: 'info',
    outcome: 'success',
    sentence: 'all sessions and tokens of a user revoked',
    story: 'All sessions and tokens of {subject} were revoked',
    scope: 'request',
    fields: { ...USER, ...REASON },
  },
  'session.ended': {
    level: 'info',
    outcome: 'success',
    sentence: 'one session of a user revoked',
    story: 'One session of {subject} was ended',
    scope: 'request',
    fields: { ...USER, openedBy: text('Door that opened the session.') },
  },
  'limit.started': {
    level: 'warn',
    outcome: 'failure',
    sentence: 'limit on password checks or sign-ups reached',
    story: 'The limit {limit} was reached: attempts of {subject} are refused for some time',
    scope: 'request',
    fields: {
      limit: text('Which limit: `lockout`, `account`, `peer`, `sign-up` (of one address) or `all-sign-ups`.'),
      subject: optional(
        text('Account that is limited, or `(unknown name)`. Absent where the limit is not on an account.'),
      ),
      seconds: optional(number('For how long, if that is known.')),
    },
  },
  'limit.ended': {
    level: 'info',
    outcome: 'success',
    sentence: 'lockout ended',
    story: 'The lockout of {subject} ended',
    scope: 'server',
    fields: { limit: text('`lockout`.'), subject: text('Account that was locked, or `(unknown name)`.') },
  },
  'limit.lifted': {
    level: 'info',
    outcome: 'success',
    sentence: 'limit on password checks lifted',
    story: 'The limit on sign-ins of {subject} was lifted',
    scope: 'request',
    fields: { subject: text('Account whose failures are forgotten.') },
  },
  // users, administrators, grants, access tokens
  'user.created': {
    level: 'info',
    outcome: 'success',
    sentence: 'user created',
    story: 'User {subject} was created',
    scope: 'request',
    fields: USER,
  },
  'user.changed': {
    level: 'info',
    outcome: 'success',
    sentence: 'user changed',
    story: 'User {subject} was changed: {changed}',
    scope: 'request',
    fields: {
      ...USER,
      changed: list(
        'What changed: `password`, `roles`, `active`, `expiry`, `password change`, `totp`, `members`, `extra`, `config`.',
      ),
    },
  },
  'user.removed': {
    level: 'info',
    outcome: 'success',
    sentence: 'user removed',
    story: 'User {subject} was removed',
    scope: 'request',
    fields: USER,
  },
  'user.erased': {
    level: 'warn',
    outcome: 'success',
    sentence: 'name of a removed user erased from the audit trail',
    story: 'A removed user became {subject} in {records} audit records',
    scope: 'request',
    fields: {
      subject: text('What the records show in place of the name.'),
      records: number('In how many records.'),
    },
  },
  'administrator.created': {
    level: 'warn',
    outcome: 'success',
    sentence: 'administrator created',
    story: 'Administrator {subject} was created',
    scope: 'request',
    fields: ADMINISTRATOR,
  },
  'administrator.changed': {
    level: 'warn',
    outcome: 'success',
    sentence: 'password of an administrator changed',
    story: 'The password of administrator {subject} was changed',
    scope: 'request',
    fields: ADMINISTRATOR,
  },
  'administrator.totp': {
    level: 'info',
    outcome: 'success',
    sentence: 'second factor of an administrator set or removed',
    story: 'The second factor of administrator {subject} was changed',
    scope: 'request',
    fields: { ...ADMINISTRATOR, action: text('`set` or `removed`.') },
  },
  'administrator.removed': {
    level: 'warn',
    outcome: 'success',
    sentence: 'administrator removed',
    story: 'Administrator {subject} was removed',
    scope: 'request',
    fields: ADMINISTRATOR,
  },
  'grant.created': {
    level: 'info',
    outcome: 'success',
    sentence: 'grant created',
    story: '{subject} was granted {access} on {database}',
    scope: 'request',
    fields: { ...GRANT, access: text('`rw`, `ro` or `none`.') },
  },
  'grant.changed': {
    level: 'info',
    outcome: 'success',
    sentence: 'grant changed',
    story: 'The grant of {subject} on {database} was changed from {old} to {access}',
    scope: 'request',
    fields: { ...GRANT, access: text('`rw`, `ro` or `none`.'), old: text('Access before.') },
  },
  'grant.removed': {
    level: 'info',
    outcome: 'success',
    sentence: 'grant removed',
    story: 'The grant of {subject} on {database} was removed',
    scope: 'request',
    fields: { ...GRANT, old: text('Access before.') },
  },
  'recovery-codes.created': {
    level: 'info',
    outcome: 'success',
    sentence: 'recovery codes created',
    story: 'Recovery codes of {subject} were created',
    scope: 'request',
    fields: { subject: text('Name of the user or administrator.') },
  },
  'recovery-code.used': {
    level: 'warn',
    outcome: 'success',
    sentence: 'recovery code used in place of a one-time code',
    story: '{subject} used a recovery code',
    scope: 'request',
    fields: { subject: text('Name of the user or administrator.'), left: number('How many codes are left.') },
  },
  'password-link.created': {
    level: 'info',
    outcome: 'success',
    sentence: 'link to set a password created',
    story: 'A link to set the password of {subject} was created',
    scope: 'request',
    fields: { ...USER, seconds: number('For how long it can be used.') },
  },
  'password-link.used': {
    level: 'info',
    outcome: 'success',
    sentence: 'password set with a link',
    story: '{subject} set a password with a link',
    scope: 'request',
    fields: USER,
  },
  'access-token.created': {
    level: 'info',
    outcome: 'success',
    sentence: 'access token created',
    story: 'Access token {token} of {subject} was created',
    scope: 'request',
    fields: { ...USER, token: text('Name of the access token.') },
  },
  'access-token.removed': {
    level: 'info',
    outcome: 'success',
    sentence: 'access token removed',
    story: 'Access token {token} of {subject} was removed',
    scope: 'request',
    fields: { ...USER, token: text('Name of the access token.') },
  },
  'users.imported': {
    level: 'info',
    outcome: 'success',
    sentence: 'users imported',
    story: 'Users were imported: {created} created, {replaced} replaced, {kept} kept, {refused} refused',
    scope: 'request',
    fields: {
      created: number('Users created.'),
      replaced: number('Users replaced.'),
      kept: number('Users that stayed as they were.'),
      refused: number('Users that were refused.'),
    },
  },
  'users.exported': {
    level: 'warn',
    outcome: 'success',
    sentence: 'users exported with their password hashes',
    story: '{count} users were exported with their password hashes',
    scope: 'request',
    fields: { count: number('Users in the response.') },
  },
  // configuration and keys
  'settings.exported': {
    level: 'warn',
    outcome: 'success',
    sentence: 'run-time settings exported',
    story: '{count} run-time settings were exported',
    scope: 'request',
    fields: { count: number('Settings in the response. The owner of the process gets secrets too.') },
  },
  'option.changed': {
    level: 'info',
    outcome: 'success',
    sentence: 'option changed',
    story: 'Option {option} was changed from {old} to {new}',
    scope: 'request',
    fields: {
      option: text('`section.option`.'),
      old: optional(text('Value before; `***` for a secret. Absent where it was not set.')),
      new: optional(text('Value now; `***` for a secret. Absent where it was removed.')),
    },
  },
  'configuration.reloaded': {
    level: 'info',
    outcome: 'success',
    sentence: 'configuration reloaded',
    story: 'The configuration was reloaded; changed: {changed}',
    scope: 'request',
    fields: { changed: list('Options whose value changed.') },
  },
  'reload.failed': {
    level: 'error',
    outcome: 'failure',
    sentence: 'reload failed; the previous values stay in use',
    story: 'Reload of {source} failed; the previous values stay in use',
    scope: 'request',
    fields: { ...SOURCE, ...REASON },
  },
  'secrets.reloaded': {
    level: 'info',
    outcome: 'success',
    sentence: 'secrets reloaded',
    story: 'The secrets of {source} were reloaded',
    scope: 'request',
    fields: SOURCE,
  },
  'secrets.rotated': {
    level: 'info',
    outcome: 'success',
    sentence: 'secret rotation advanced by one step',
    story: 'Secret rotation: {file} was {step}',
    scope: 'request',
    fields: { step: text('`added`, `activated` or `removed`.'), file: text('Name of the file with the secret.') },
  },
  'key-set.reloaded': {
    level: 'info',
    outcome: 'success',
    sentence: 'key set reloaded',
    story: 'The key set {source} was reloaded',
    scope: 'request',
    fields: SOURCE,
  },
  'certificate.reloaded': {
    level: 'info',
    outcome: 'success',
    sentence: 'certificate reloaded',
    story: 'The certificate {source} was reloaded',
    scope: 'request',
    fields: SOURCE,
  },
  'certificate.expired': {
    level: 'error',
    outcome: 'failure',
    sentence: 'the certificate of a listener is out of date, and clients reject it: renew it',
    story: 'The certificate {source} is out of date',
    scope: 'server',
    fields: { ...SOURCE, ...REASON },
  },
  // the server and what it depends on
  'server.started': {
    level: 'info',
    outcome: 'success',
    sentence: 'server started',
    story: 'The server started with version {version}',
    scope: 'server',
    fields: { version: text('Version of Cardea.'), listening: list('Addresses of the doors.') },
  },
  'server.stopped': {
    level: 'info',
    outcome: 'success',
    sentence: 'server stopped',
    story: 'The server stopped',
    scope: 'server',
    fields: {},
  },
  'store.lost': {
    level: 'error',
    outcome: 'failure',
    sentence: 'store cannot be reached',
    story: 'The store cannot be reached',
    scope: 'server',
    fields: REASON,
  },
  'store.back': {
    level: 'info',
    outcome: 'success',
    sentence: 'store can be reached again',
    story: 'The store can be reached again, after {seconds} seconds',
    scope: 'server',
    fields: { seconds: number('For how long it could not be reached.') },
  },
  'store.restored': {
    level: 'warn',
    outcome: 'success',
    sentence: 'store restored from a backup',
    story: 'The store was restored from a backup of {createdAt}, with {records} records',
    scope: 'server',
    fields: {
      createdAt: text('When the backup was made.'),
      records: number('How many records the backup has.'),
      sha256: text('SHA-256 of its content, as `cardea restore` prints it.'),
    },
  },
  'audit.failed': {
    level: 'error',
    outcome: 'failure',
    sentence: 'audit records cannot be written',
    story: 'Audit records cannot be written to {destination}',
    scope: 'server',
    fields: { ...DESTINATION, ...REASON },
  },
  'audit.recovered': {
    level: 'info',
    outcome: 'success',
    sentence: 'audit records can be written again',
    story: 'Audit records can be written to {destination} again, after {seconds} seconds',
    scope: 'server',
    fields: { ...DESTINATION, seconds: number('For how long they could not be written.') },
  },
  'audit.lost': {
    level: 'error',
    outcome: 'failure',
    sentence: 'audit records were lost because too many were waiting',
    story: '{count} audit records for {destination} were lost, because too many were waiting',
    scope: 'server',
    fields: { ...DESTINATION, count: number('How many.') },
  },
  'audit.broken': {
    level: 'error',
    outcome: 'failure',
    sentence: 'the audit trail in the store does not continue the last checkpoint',
    story: 'The audit trail in the store does not continue the last checkpoint',
    scope: 'server',
    fields: {
      ...REASON,
      expected: number('Sequence of the last checkpoint.'),
      found: number('Sequence of the last record in the store. A restored backup has an earlier one.'),
    },
  },
  'audit.unchecked': {
    level: 'error',
    outcome: 'failure',
    sentence: 'the audit trail in the store could not be compared with the last checkpoint',
    story: 'The audit trail in the store could not be compared with the last checkpoint',
    scope: 'server',
    fields: REASON,
  },
  'upstream.token-rejected': {
    level: 'error',
    outcome: 'failure',
    sentence: 'upstream server rejected the identity that Cardea signed',
    story: 'Upstream {upstream} rejected the identity that Cardea signed',
    scope: 'server',
    groupBy: 'upstream',
    fields: { ...UPSTREAM, ...REASON, check: text('Options and configuration lines to compare.') },
  },
  'upstream.down': {
    level: 'error',
    outcome: 'failure',
    sentence: 'upstream server cannot be reached',
    story: 'Upstream {upstream} cannot be reached',
    scope: 'server',
    groupBy: 'upstream',
    fields: { ...UPSTREAM, ...REASON, check: text('What to check.') },
  },
  'upstream.failed': {
    level: 'error',
    outcome: 'failure',
    sentence: 'upstream server gave no valid response',
    story: 'Upstream {upstream} gave no valid response',
    scope: 'server',
    groupBy: 'upstream',
    fields: { ...UPSTREAM, ...REASON, check: text('What to check.') },
  },
  'upstream.up': {
    level: 'info',
    outcome: 'success',
    sentence: 'upstream server can be reached again',
    story: 'Upstream {upstream} can be reached again, after {seconds} seconds',
    scope: 'server',
    fields: { ...UPSTREAM, seconds: number('For how long it could not be reached.') },
  },
} as const satisfies Readonly<Record<string, EventRow>>

export type EventKind = keyof typeof SECURITY_EVENTS

type Rows = typeof SECURITY_EVENTS
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
export type EventFields<K extends EventKind> = GivenFields<Rows[K]['fields']> & OriginFields
