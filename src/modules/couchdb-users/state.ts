// What the store knows of the copy: how far the feed is followed, which process follows it, and what is left out.
import { createHash, randomUUID } from 'node:crypto'
import {
  type Engine,
  many,
  manyKeys,
  numberOf,
  one,
  type Row,
  type StoreSteps,
  textOf,
  Undone,
} from '../../store/engine.ts'
import { isKey, toStorable } from '../../store/limits.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import { toStatements } from '../../store/statements.ts'

/**
 * `adopting`: users of the store are written to the database. `filling`: the first copy. `comparing`: the database is not
 * the one that was copied, so everything is read again.
 */
export const PHASES = ['adopting', 'filling', 'comparing', 'following'] as const
export type Phase = (typeof PHASES)[number]

/** How far the copy is. Without it, the users of the store are its own. */
export interface CopyProgress {
  /** Names the checkpoint in the database. Random, so that no other copy has it. */
  readonly copy: string
  readonly phase: Phase
  /** The sequence of the database up to which all changes are in the store. While adopting: the last user who is done. */
  readonly since: string
  /** While adopting: whether other documents of the same users are replaced. */
  readonly replaces?: boolean
  /** While comparing: the users were the store's own until then. They are as fresh as the last page. */
  readonly isAdopted?: true
  /** While comparing: users that the database no longer has were removed. */
  readonly isSwept?: true
  /** The users become the store's own: when the copy has all changes, or at once. Until then they are not changed here. */
  readonly release?: 'complete' | 'now'
  /** The newest entry of the checkpoint that was written before them. Empty: none yet. */
  readonly checkpoint: string
  /** How many changes were read in this phase, and how many were left at the last reading. */
  readonly done: number
  readonly pending: number
}

export interface CopyState {
  readonly holder: string
  /** The database had no other changes than those in the store; 0: it was never so. */
  readonly freshMs: number
  readonly progress: CopyProgress
}

/** A document that is no user here, or one that cannot sign in. */
export interface RefusedDocument {
  readonly document: string
  readonly kind: 'left-out' | 'conflict'
  readonly reason: string
}

const STATEMENTS = toStatements(
  {
    claim: `UPDATE cardea_mirror SET holder = $1, until_ms = $2 WHERE data <> '' AND (holder = $1 OR until_ms <= $3)`,
    endLease: 'UPDATE cardea_mirror SET until_ms = 0 WHERE holder = $1',
    // without data: a copy that was to begin
    read: "SELECT holder, fresh_ms, data FROM cardea_mirror WHERE data <> ''",
    begin: `INSERT INTO cardea_mirror (id, holder, until_ms, fresh_ms, data) VALUES (1, '', 0, 0, $1)
      ON CONFLICT (id) DO UPDATE SET data = excluded.data WHERE cardea_mirror.data = ''`,
    // the process that follows has lost the lease: what it does by the state before is undone
    change: "UPDATE cardea_mirror SET holder = '', until_ms = 0, data = $1 WHERE data = $2 RETURNING id",
    advance: `UPDATE cardea_mirror SET until_ms = $2, fresh_ms = $3, data = $4 WHERE holder = $1 RETURNING id`,
    remove: 'DELETE FROM cardea_mirror WHERE holder = $1 RETURNING id',
    removeAllIntents: 'DELETE FROM cardea_mirror_intents',
    putRefused: `INSERT INTO cardea_mirror_refused (document, kind, reason) VALUES ($1, $2, $3)
      ON CONFLICT (document) DO UPDATE SET kind = excluded.kind, reason = excluded.reason`,
    removeRefused: 'DELETE FROM cardea_mirror_refused WHERE document = $1',
    removeAllRefused: 'DELETE FROM cardea_mirror_refused',
    listRefusedDocuments:
      'SELECT document, kind, reason FROM cardea_mirror_refused WHERE document > $1 ORDER BY document LIMIT $2',
    findAnyRefused: 'SELECT document FROM cardea_mirror_refused LIMIT 1',
    countRefused: 'SELECT kind, count(*) AS count FROM cardea_mirror_refused GROUP BY kind',
  },
  'couchdb-users.',
)

const MAX_LISTED = 1_000_000

/** Longer than the pause between two renewals, also while the database is slow. */
const LEASE_MS = 10_000

/** Makes this process the one that follows, unless another one is. */
export async function claimLease(statements: Engine, holder: string, nowMs: number): Promise<CopyState | undefined> {
  await statements.ask(one(STATEMENTS.claim, holder, nowMs + LEASE_MS, nowMs))
  return readCopyState(statements)
}

/** Lets another process follow at once. */
export const endLease = async (statements: Engine, holder: string): Promise<void> =>
  void (await statements.ask(one(STATEMENTS.endLease, holder)))

/** `undefined`: the users of the store are its own. */
export async function readCopyState(statements: Engine): Promise<CopyState | undefined> {
  const [row] = await statements.ask(one(STATEMENTS.read))
  return row && { holder: textOf(row, 'holder'), freshMs: numberOf(row, 'fresh_ms'), progress: readProgress(row) }
}

// only this file writes it
export const readProgress = (row: Row): CopyProgress => JSON.parse(textOf(row, 'data'))

/** From now on the users of the store are a copy. `filling`: only if there are none. */
export const beginCopy = (statements: Engine, begun: Pick<CopyProgress, 'phase' | 'replaces'>): Promise<void> =>
  statements.transact(function* () {
    const { users } = yield* lockCounters()
    if (begun.phase === 'filling' && users > 0) return
    const since = begun.phase === 'adopting' ? '' : '0'
    const pending = begun.phase === 'adopting' ? users : 0
    const progress: CopyProgress = { copy: randomUUID(), since, checkpoint: '', done: 0, pending, ...begun }
    yield one(STATEMENTS.begin, JSON.stringify(progress))
  })

/** Tells the process that follows what to do, whatever it does meanwhile. Returns `false` if there is no copy by now. */
export async function changeCopy(
  statements: Engine,
  change: (progress: CopyProgress) => CopyProgress,
): Promise<boolean> {
  for (;;) {
    const { progress: before } = (await readCopyState(statements)) ?? {}
    if (!before) return false
    const rows = await statements.ask(one(STATEMENTS.change, JSON.stringify(change(before)), JSON.stringify(before)))
    if (rows.length > 0) return true
  }
}

/** Whether the store lacks no change of a user: they are its own, or are being written to CouchDB. */
export const hasOwnUsers = (progress: CopyProgress | undefined): boolean =>
  progress === undefined || progress.phase === 'adopting'

/** From now on the users of the store are its own. Throws if another process follows by now. */
export const removeCopy = async (statements: Engine, holder: string): Promise<void> =>
  statements.transact(function* () {
    const [row] = yield one(STATEMENTS.remove, holder)
    if (!row) throw new LeaseLost('another process follows the users by now')
    yield one(STATEMENTS.removeAllRefused)
    yield one(STATEMENTS.removeAllIntents)
  })

/** Everything is read again. */
export const toComparing = ({ copy, release }: CopyProgress): CopyProgress => ({
  ...{ copy, phase: 'comparing', since: '0', checkpoint: '', done: 0, pending: 0 },
  ...(release && { release }),
})

export class UsersAreCopied extends Undone {}

/** Throws, so that the transaction is undone, if the users are a copy by now: they are changed in CouchDB first. */
export function* requireOwnUsers(): StoreSteps<void> {
  const [row] = yield one(STATEMENTS.read)
  if (row) throw new UsersAreCopied('the users are those of CouchDB by now')
}

export class LeaseLost extends Undone {}

export interface Advance {
  readonly holder: string
  readonly nowMs: number
  readonly freshMs: number
  readonly progress: CopyProgress
  readonly refused?: readonly RefusedDocument[]
  /** Ids of documents that are read again without a problem. */
  readonly accepted?: readonly string[]
}

/** Throws, so that the transaction is undone, if another process follows by now. */
export function* advanceCopy(advance: Advance): StoreSteps<void> {
  const { holder, nowMs, freshMs, progress, refused = [], accepted = [] } = advance
  const [row] = yield one(STATEMENTS.advance, holder, nowMs + LEASE_MS, freshMs, JSON.stringify(progress))
  if (!row) throw new LeaseLost('another process follows the users by now')
  yield* noteDocuments({ refused, accepted })
}

/** Which documents are no users, and which are by now. */
export function* noteDocuments({
  refused,
  accepted,
}: Required<Pick<Advance, 'refused' | 'accepted'>>): StoreSteps<void> {
  const [anyRefused] = accepted.length > 0 ? yield one(STATEMENTS.findAnyRefused) : []
  if (anyRefused) yield manyKeys(STATEMENTS.removeRefused, accepted.map(toKey))
  if (refused.length > 0)
    yield many(
      STATEMENTS.putRefused,
      refused.map(({ document, kind, reason }) => [toKey(document), kind, toStorable(reason)]),
    )
}

/** An id that the store cannot have, or that is too long for an index, is stored as its beginning and a digest. */
function toKey(id: string): string {
  if (isKey(id)) return id
  return `${toStorable(id.slice(0, 100))}… (SHA-256 ${createHash('sha256').update(JSON.stringify(id)).digest('hex')})`
}

/** A shortened id cannot be asked for: CouchDB would say that it does not exist. */
export const isWholeId = ({ document }: RefusedDocument): boolean => !/… \(SHA-256 [0-9a-f]{64}\)$/.test(document)

/** The part of the health. */
export const HEALTH_NAME = 'users in CouchDB'

export const MIRROR_TABLE = 'cardea_mirror'
export const REFUSED_TABLE = 'cardea_mirror_refused'

export const readRefused = (row: Row): RefusedDocument => ({
  document: textOf(row, 'document'),
  kind: textOf(row, 'kind') === 'conflict' ? 'conflict' : 'left-out',
  reason: textOf(row, 'reason'),
})

/** In the order of their ids. */
export const listRefusedDocuments = async (
  statements: Engine,
  { after = '', limit = MAX_LISTED } = {},
): Promise<readonly RefusedDocument[]> =>
  (await statements.ask(one(STATEMENTS.listRefusedDocuments, after, limit))).map(readRefused)

export async function countRefused(statements: Engine): Promise<Readonly<Record<RefusedDocument['kind'], number>>> {
  const rows = await statements.ask(one(STATEMENTS.countRefused))
  const count = (kind: string) =>
    rows.filter((row) => textOf(row, 'kind') === kind).map((row) => numberOf(row, 'count'))
  return { 'left-out': count('left-out')[0] ?? 0, conflict: count('conflict')[0] ?? 0 }
}
