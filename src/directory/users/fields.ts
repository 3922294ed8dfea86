/**
 * The members of a user, one row each. The record, the drafts of import and export, the body, reply and schema of the
 * admin API, the types of the console and the event of a change are derived from it. The other members of a user document
 * of CouchDB are free; together they are the field `members`.
 */

/** From most to least access. */
export const GRANT_LEVELS = ['rw', 'ro', 'none'] as const

export interface Field {
  /** What values it has, and so how each format writes them. */
  readonly type: FieldType
  /** Where the record has it; `draft`: only a user to be imported has it. */
  readonly part: 'record' | 'document' | 'multiModel' | 'draft'
  /** The value of a user without one. */
  readonly empty?: unknown
  /** The record leaves it out, if there is no value or the value is `false`. */
  readonly isOptional?: true
  /** Its changes follow rules of the directory: a draft or a change of the record does not simply replace it. */
  readonly isManaged?: true
  /** It limits sign-in, which no other server knows: a user with it is exported to others without the password. */
  readonly isLimit?: true
  /** Its name in Cardea's own format, if it differs. All are imported, exported and, with the record, backed up. */
  readonly exported?: string
  /** Its name in the event `user.changed`. Without one, it has events of its own. */
  readonly event?: string
  /** Its name at the document door. Users see it in their own document, and only administrators change it there. */
  readonly document?: string
  /** Its name at the multi-model door, which shows it to the user itself and to managers. */
  readonly multiModel?: string
  /** Its name in the admin API, which shows it to administrators and user administrators. `?`: only if it has a value. */
  readonly shown?: string
  /** What the description of the admin API says of it. */
  readonly help?: string
  /** What `cardea user show` calls it. */
  readonly label?: string
  /** Its name in the admin API for a new user. */
  readonly given?: string
  /** The option of `cardea user add` for it: its form, its help, and its value if the form takes none. */
  readonly option?: readonly [form: string, help: string, value?: boolean]
  /** The operation of the admin API with which administrators and user administrators set it. */
  readonly set?: SetOperation
}

export interface SetOperation {
  /** Below the path of the user. */
  readonly path: string
  readonly summary: string
  /** Member of the body. */
  readonly member: string
  /** Callers who set this value for their own account must have proved the password. */
  readonly provenValue?: boolean
}

type FieldType =
  | ('address' | 'data' | 'epoch' | 'flag' | 'grants' | 'id' | 'links' | 'members' | 'name')
  | ('passkeys' | 'password' | 'revision' | 'roles' | 'time' | 'tokens')

/** In the order in which the admin API shows them. */
export const USER_FIELDS = {
  name: {
    type: 'name',
    part: 'record',
    isManaged: true,
    document: 'name',
    multiModel: 'user',
    shown: 'name',
    given: 'name',
  },
  /** Stored for a user with the name of a removed one. Other users have the id that comes from their name. */
  id: { type: 'id', part: 'record', isOptional: true, isManaged: true },
  isActive: {
    type: 'flag',
    part: 'record',
    empty: true,
    exported: 'active',
    event: 'active',
    multiModel: 'active',
    shown: 'active',
    given: 'active?',
    option: ['--disabled', 'create the user disabled', false],
    set: { path: 'active', summary: 'Activate or deactivate a user', member: 'active', provenValue: false },
  },
  /** The server that has the user refuses it now, or its document there cannot be read. */
  isWithheld: {
    type: 'flag',
    part: 'record',
    isOptional: true,
    isManaged: true,
    shown: 'withheld?',
    help: 'The user cannot sign in until its document in CouchDB is repaired.',
    label: 'withheld',
  },
  /** The server that has the user does not have its password. */
  isPasswordApart: { type: 'flag', part: 'record', isOptional: true, isManaged: true },
  /** From then on the user is treated as inactive, in seconds since the epoch. */
  expiresAt: {
    type: 'time',
    part: 'record',
    isOptional: true,
    isLimit: true,
    event: 'expiry',
    shown: 'expires?',
    help: 'From then on the user cannot sign in; absent: never.',
    label: 'expires',
    given: 'expires?',
    option: ['--expires <time>', 'no sign-in from then on: a day or a time in UTC, as 2030-12-31T18:00:00Z'],
    set: { path: 'expiry', summary: 'Set the time from which a user cannot sign in', member: 'expires?' },
  },
  /** Until it has another password, the user can do nothing but change the password. */
  mustChangePassword: {
    type: 'flag',
    part: 'record',
    isOptional: true,
    isLimit: true,
    event: 'password change',
    shown: 'mustChangePassword?',
    label: 'must change password',
    given: 'mustChangePassword?',
    option: ['--must-change', 'the user must change the password at the next sign-in', true],
    set: {
      path: 'password-change',
      summary: 'Require a user to change the password, or stop requiring it',
      member: 'required',
    },
  },
  roles: {
    type: 'roles',
    part: 'document',
    empty: Object.freeze([]),
    event: 'roles',
    document: 'roles',
    shown: 'roles',
    label: 'roles',
    given: 'roles?',
  },
  /** All other members of the document in their order. Pairs, because an object would reorder names that look like numbers. */
  members: { type: 'members', part: 'document', empty: Object.freeze([]), event: 'members' },
  /** Access at the multi-model door, by database; `*` is the default for all. */
  grants: {
    type: 'grants',
    part: 'multiModel',
    empty: new Map(),
    shown: 'grants',
    help: 'By name of the database.',
    label: 'grants',
    given: 'grants?',
  },
  extra: { type: 'data', part: 'multiModel', empty: Object.freeze({}), event: 'extra', multiModel: 'extra' },
  /** Settings of a web console at the multi-model door. */
  config: { type: 'data', part: 'multiModel', empty: Object.freeze({}), event: 'config' },
  password: {
    type: 'password',
    part: 'record',
    isManaged: true,
    event: 'password',
    shown: 'password',
    help: 'The scheme of the stored password, in words; null: there is none.',
    label: 'password',
    given: 'password?',
  },
  /** The password could not be exported. An import that replaces a user keeps the existing password. */
  keepsPassword: { type: 'flag', part: 'draft', isOptional: true, isManaged: true },
  /** Revision of the document. That of a draft is used only if the name was never used here. */
  revision: { type: 'revision', part: 'document', isManaged: true, shown: 'revision', label: 'revision' },
  /** The later one of the draft and of the record counts. */
  sessionEpoch: { type: 'epoch', part: 'record', isManaged: true, exported: 'sessionsFrom' },
  tokens: {
    type: 'tokens',
    part: 'multiModel',
    empty: Object.freeze([]),
    shown: 'accessTokens',
    help: 'How many access tokens the user has.',
    label: 'access tokens',
  },
  /** External accounts, which sign in as the user. */
  links: { type: 'links', part: 'record', isOptional: true },
  /** Keys of authenticators that sign in as the user. */
  passkeys: {
    type: 'passkeys',
    part: 'record',
    isOptional: true,
    event: 'passkeys',
    shown: 'passkeys?',
    help: 'How many passkeys the user has: where a role needs a second factor, they are one. Absent: none.',
    label: 'passkeys',
  },
  /** Messages about the account go there. Applications keep an `email` of their own among the members, which proves nothing. */
  address: {
    type: 'address',
    part: 'record',
    isOptional: true,
    event: 'address',
    shown: 'address?',
    help: 'The verified e-mail address; absent: none.',
    label: 'address',
  },
} as const satisfies Readonly<Record<string, Field>>

export type UserFields = typeof USER_FIELDS
export type FieldName = keyof UserFields

/** `Object.entries` loses the names of the table. */
export const FIELD_ROWS = Object.entries<Field>(USER_FIELDS) as readonly (readonly [FieldName, Field])[]

/** The members of a user document that are fields, besides those of the password. */
export const DOCUMENT_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  ...FIELD_ROWS.flatMap(([, { document }]) => document ?? []),
])

/** The fields of a new user, by their members in the admin API. */
export const GIVEN_FIELDS: ReadonlyMap<string, Field & { readonly name: FieldName }> = new Map(
  FIELD_ROWS.flatMap(([name, field]) =>
    field.given === undefined ? [] : [[field.given.replace('?', ''), { ...field, name }]],
  ),
)
