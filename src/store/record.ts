import { isJsonObject, type Members } from '../base/json.ts'
import type { Grant, GrantLevel, MultiModelPayload, Tombstone, User, UserRecord } from '../directory/users/user.ts'
import { DamagedRecordError } from './damaged-records.ts'
import { numberOf, type Row, textOf } from './engine.ts'

/**
 * The text a record is stored as, without its name. A text column, because JSON columns reorder members and reject
 * U+0000. The session epoch is stored under its first name, `sessionsFrom`, so that every version can read the record.
 */
export function renderRecord({ kind: _kind, name: _name, sessionEpoch, ...rest }: UserRecord): string {
  const stored = 'multiModel' in rest ? { ...rest, multiModel: toPlain(rest.multiModel) } : rest
  return JSON.stringify({ ...stored, sessionsFrom: sessionEpoch })
}

/** Throws a `DamagedRecordError`, as `readUser` does. */
export const readRecord = (name: string, isLive: boolean, text: string): UserRecord =>
  isLive ? readUser(name, text) : readTombstone(name, text)

/** The record of a row of `cardea_users`. */
export const readRecordRow = (row: Row): UserRecord =>
  readRecord(textOf(row, 'name'), numberOf(row, 'is_live') === 1, textOf(row, 'record'))

/** A record as `renderRecord` writes it. */
type StoredForm<R extends UserRecord> = Omit<R, 'kind' | 'name' | 'sessionEpoch' | 'multiModel'> & {
  readonly sessionsFrom: R['sessionEpoch']
}

export function readUser(name: string, text: string): User {
  const stored = parse(name, text)
  if (!isStoredUser(stored)) throw new DamagedRecordError(name)
  const { sessionsFrom, multiModel, ...rest } = stored
  const grants = toGrants(multiModel.grants)
  return { kind: 'user', name, ...rest, sessionEpoch: sessionsFrom, multiModel: { ...multiModel, grants } }
}

function readTombstone(name: string, text: string): Tombstone {
  const stored = parse(name, text)
  if (!isStoredTombstone(stored)) throw new DamagedRecordError(name)
  const { sessionsFrom, ...rest } = stored
  return { kind: 'tombstone', name, ...rest, sessionEpoch: sessionsFrom }
}

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new DamagedRecordError(name, { cause })
  }
}

/** Only Cardea writes to the store, so this looks for damage: it checks the members that every request relies on. */
const isStoredUser = (stored: unknown): stored is StoredForm<User> & { readonly multiModel: PlainPayload } =>
  hasEpoch(stored) &&
  typeof stored['isActive'] === 'boolean' &&
  hasMember(stored['password'], 'scheme', isText) &&
  hasMember(stored['document'], 'revision', isText) &&
  hasMember(stored['document'], 'roles', isTextList) &&
  hasMember(stored['document'], 'members', Array.isArray) &&
  hasMember(stored['multiModel'], 'grants', isPlainGrants) &&
  hasMember(stored['multiModel'], 'tokens', Array.isArray)

const isStoredTombstone = (stored: unknown): stored is StoredForm<Tombstone> =>
  hasEpoch(stored) && isText(stored['revision'])

const hasEpoch = (stored: unknown): stored is Members =>
  isJsonObject(stored) && hasMember(stored['sessionsFrom'], 'generation', Number.isFinite)

const hasMember = (value: unknown, name: string, isIntact: (member: unknown) => boolean): boolean =>
  isJsonObject(value) && isIntact(value[name])

const isText = (value: unknown): boolean => typeof value === 'string'

const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText)

const isPlainGrants = (value: unknown): boolean =>
  Array.isArray(value) && value.every((grant) => Array.isArray(grant) && isText(grant[0]) && Array.isArray(grant[2]))

type PlainGrant = readonly [database: string, level: GrantLevel | null, collections: readonly [string, GrantLevel][]]

type PlainPayload = Omit<MultiModelPayload, 'grants'> & { readonly grants: readonly PlainGrant[] }

const toPlain = (payload: MultiModelPayload): PlainPayload => ({
  ...payload,
  grants: [...payload.grants].map(([database, { level, collections }]) => [database, level ?? null, [...collections]]),
})

const toGrants = (grants: readonly PlainGrant[]): ReadonlyMap<string, Grant> =>
  new Map(
    grants.map(([database, level, collections]) => [
      database,
      { level: level ?? undefined, collections: new Map(collections) },
    ]),
  )
