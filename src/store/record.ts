import type { Grant, GrantLevel, MultiModelPayload, Tombstone, User, UserRecord } from '../directory/user.ts'

/** The text a record is kept as, without its name. Text, not a JSON column: those reorder members and refuse U+0000. */
export function renderRecord(record: UserRecord): string {
  const { kind: _kind, name: _name, ...rest } = record
  return JSON.stringify('multiModel' in rest ? { ...rest, multiModel: toPlain(rest.multiModel) } : rest)
}

export function readRecord(name: string, isLive: boolean, text: string): UserRecord {
  return isLive ? readUser(name, text) : readTombstone(name, text)
}

export function readUser(name: string, text: string): User {
  // the store holds what renderRecord wrote, and nobody else writes there
  const rest = JSON.parse(text) as Omit<User, 'kind' | 'name' | 'multiModel'> & { readonly multiModel: PlainPayload }
  return { kind: 'user', name, ...rest, multiModel: { ...rest.multiModel, grants: toGrants(rest.multiModel.grants) } }
}

function readTombstone(name: string, text: string): Tombstone {
  // as above
  const rest = JSON.parse(text) as Omit<Tombstone, 'kind' | 'name'>
  return { kind: 'tombstone', name, ...rest }
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
