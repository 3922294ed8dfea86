import type { Grant, GrantLevel, MultiModelPayload, Tombstone, User, UserRecord } from '../directory/user.ts'

/**
 * The text a record is stored as, without its name. A text column, because JSON columns reorder members and reject
 * U+0000. The session epoch is stored under its first name, `sessionsFrom`, so that every version can read the record.
 */
export function renderRecord({ kind: _kind, name: _name, sessionEpoch, ...rest }: UserRecord): string {
  const stored = 'multiModel' in rest ? { ...rest, multiModel: toPlain(rest.multiModel) } : rest
  return JSON.stringify({ ...stored, sessionsFrom: sessionEpoch })
}

export function readRecord(name: string, isLive: boolean, text: string): UserRecord {
  return isLive ? readUser(name, text) : readTombstone(name, text)
}

/** A record as `renderRecord` writes it. Only Cardea writes to the store, so reading does not check it again. */
type StoredForm<R extends UserRecord> = Omit<R, 'kind' | 'name' | 'sessionEpoch' | 'multiModel'> & {
  readonly sessionsFrom: R['sessionEpoch']
}

export function readUser(name: string, text: string): User {
  const { sessionsFrom, multiModel, ...rest } = JSON.parse(text) as StoredForm<User> & { multiModel: PlainPayload }
  const grants = toGrants(multiModel.grants)
  return { kind: 'user', name, ...rest, sessionEpoch: sessionsFrom, multiModel: { ...multiModel, grants } }
}

function readTombstone(name: string, text: string): Tombstone {
  const { sessionsFrom, ...rest } = JSON.parse(text) as StoredForm<Tombstone>
  return { kind: 'tombstone', name, ...rest, sessionEpoch: sessionsFrom }
}

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
