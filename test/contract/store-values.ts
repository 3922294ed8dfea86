import assert from 'node:assert/strict'
import { Refusal } from '../../src/base/errors.ts'
import type { Change, ChangeFeed } from '../../src/directory/store-port/changes.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { Stored, UserWrite, UserWriteOutcome } from '../../src/directory/store-port/users.ts'
import { createEmptyUser, reviseUser, revisionOf, toTombstone } from '../../src/directory/users/revisions.ts'
import type { User } from '../../src/directory/users/user.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import type { StoreSettings } from '../../src/store/create-store.ts'

export const PASSWORD: StoredPassword = {
  scheme: 'pbkdf2',
  prf: 'sha256',
  iterations: 1000,
  salt: '0123456789abcdef0123456789abcdef',
  hash: 'a'.repeat(64),
}

/** What modules read while users are written, unless a test needs something else. */
export const STORE_SETTINGS: StoreSettings = {
  'user-databases': { enabled: false, prefix: 'userdb-', 'on-delete': 'keep', shards: 0, wait: 0 },
  upstream: { document: ['http://127.0.0.1:1'], 'multi-model': [] },
  mail: { url: '' },
}

/** Equal each time: the generation of a new user is random otherwise. */
export const newUser = (name: string): User => ({
  ...createEmptyUser(name, PASSWORD),
  sessionEpoch: { generation: 0, seconds: 0 },
})

export const withRoles = (user: User, ...roles: string[]): User =>
  reviseUser(user, { ...user, document: { ...user.document, roles } })

export const create = (name: string): UserWrite => ({ expected: 'absent', record: newUser(name) })

/** The sequence of the latest change. */
export const lastSequence = async (store: ChangeFeed): Promise<number> => (await store.head()).sequence

/** One page of the changes after a sequence. */
export async function listChanges(store: ChangeFeed, sequence: number, limit: number): Promise<readonly Change[]> {
  const { mark } = await store.head()
  return (await store.changesSince({ sequence, mark }, limit)).changes
}

/** The sequence of a write that must succeed. */
export function sequenceOf(outcome: UserWriteOutcome): number {
  if (outcome.kind === 'written') return outcome.sequence
  return assert.fail(`conflict with ${'current' in outcome ? outcome.current : outcome.kind}`)
}

/** What a write that must succeed has stored: as it was given, but another server may have given it its revision. */
export function storedBy(outcome: UserWriteOutcome, { record }: Pick<UserWrite, 'record'>): Stored {
  const sequence = sequenceOf(outcome)
  const revision = 'record' in outcome ? revisionOf(outcome.record) : undefined
  if (revision === undefined) return { sequence, record }
  if (record.kind === 'tombstone') return { sequence, record: { ...record, revision } }
  return { sequence, record: { ...record, document: { ...record.document, revision } } }
}

/** Without what another server gave to the records. */
export const toPlain = (outcomes: readonly UserWriteOutcome[]): readonly object[] =>
  outcomes.map((outcome) => Object.fromEntries(Object.entries(outcome).filter(([name]) => name !== 'record')))

export const createIn = async (store: Store, name: string): Promise<number> =>
  sequenceOf(await store.writeUser(create(name)))

export async function deleteIn(store: Store, name: string): Promise<number> {
  const found = await store.findUser(name)
  if (found?.record.kind !== 'user') return assert.fail('there is no such user')
  return sequenceOf(await store.writeUser({ expected: found.sequence, record: toTombstone(found.record, 1000) }))
}

export const isRefusal =
  (code: Refusal['code']) =>
  (error: unknown): boolean =>
    error instanceof Refusal && error.code === code

/** How often the event loop can serve requests until the work is done. */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  const count = () => {
    turns += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  await work()
  clearImmediate(timer)
  return turns
}
