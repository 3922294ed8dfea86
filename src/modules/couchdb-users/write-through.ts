/**
 * Writes of users reach CouchDB first, with the revision that the copy has, then the store with the revision that CouchDB
 * has given them. What only Cardea knows of a user goes to the store alone.
 */

import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../../base/errors.ts'
import type { Members } from '../../base/json.ts'
import type { Store } from '../../directory/store-port/store.ts'
import type { Stored, UserWrite, UserWriteOutcome } from '../../directory/store-port/users.ts'
import { revisionOf } from '../../directory/users/revisions.ts'
import { type UserRecord, withField } from '../../directory/users/user.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { isUsable, PASSWORD_MEMBERS, type StoredPassword, toDocumentMembers } from '../../passwords/schemes.ts'
import { type ApplyDeps, applyPlan, planCurrent } from './apply.ts'
import { mayBeWritten, toUnconfirmed, type UsersDatabase, type WrittenDocument } from './database.ts'
import { noteIntent, removeIntent } from './intents.ts'
import { mergeWritten, withGivenRevision } from './merge.ts'
import { isLimited } from './password-forms.ts'
import { readCopyState, requireOwnUsers, UsersAreCopied } from './state.ts'

export interface WriteThroughDeps {
  readonly kernel: Pick<Kernel, 'store' | 'clock'>
  readonly database: UsersDatabase
  /** What the ids of user documents begin with. */
  readonly prefix: string
  isStale(): boolean
  /** Throws if CouchDB cannot verify the password that the record has. */
  requireVerifiable(record: UserRecord, before: UserRecord | undefined): Promise<void>
  isVerifiable(password: StoredPassword): Promise<boolean>
  /** To bring a single user up to date; `undefined`: there is no server. */
  findApplyDeps(): ApplyDeps | undefined
}

const STALE =
  'The users are those of CouchDB, which cannot be followed now: nothing was changed. See the health of this server.'
const NOT_COPIED = 'The users of CouchDB are not copied yet: start the server, and wait until it is ready.'
const MOVING = 'The users are being moved between Cardea and CouchDB: try again when that is done.'
const WITHHELD = 'The document of the user in CouchDB has conflicts or cannot be read: repair it there first.'
const OCCUPIED = 'CouchDB has a document for this name that is no user here: see cardea check.'
const OUTDATED = 'The user was changed in CouchDB since it was copied: start the server, and try again.'

export function createWriteThrough(deps: WriteThroughDeps) {
  const { store: kernelStore } = deps.kernel
  /** Those of this process that have not ended, by name. */
  const running = new Map<string, Promise<unknown>>()

  const writeThrough = async (store: Store, write: UserWrite): Promise<UserWriteOutcome> => {
    const { name } = write.record
    const stored = await store.findUser(name)
    if (sequenceOf(stored) !== write.expected) return { kind: 'conflict', current: sequenceOf(stored) }
    if (isSameDocument(stored?.record, write.record)) return store.writeUser(write)
    const work = writeBoth(deps, store, write, stored)
    running.set(name, work)
    try {
      return await work
    } finally {
      if (running.get(name) === work) running.delete(name)
    }
  }

  return {
    /** Resolves when the writes of these users that have begun have ended: their documents must not be taken for those of others. */
    async settle(names: readonly string[]): Promise<void> {
      await Promise.allSettled(names.flatMap((name) => running.get(name) ?? []))
    },
    wrap(store: Store): Store {
      const writeUsers = async (writes: readonly UserWrite[]): Promise<readonly UserWriteOutcome[]> => {
        const own = (await readCopyState(kernelStore.statements)) ? undefined : await writeOwn(kernelStore, writes)
        if (own) return own
        const outcomes: UserWriteOutcome[] = []
        // CouchDB has no transaction of several documents: each is written by itself
        for (const write of writes) outcomes.push(await writeThrough(store, write))
        return outcomes
      }
      return {
        ...store,
        async writeUser(write) {
          const [outcome] = await writeUsers([write])
          if (!outcome) throw new TypeError('A write had no outcome')
          return outcome
        },
        importUsers: async (writes, isTrial = false) =>
          isTrial || writes.length === 0 ? store.importUsers(writes, isTrial) : writeUsers(writes),
      }
    },
  }
}

/** `undefined`: nothing was written, because the users are a copy by now. */
const writeOwn = (
  store: WriteThroughDeps['kernel']['store'],
  writes: readonly UserWrite[],
): Promise<readonly UserWriteOutcome[] | undefined> =>
  store
    .writeUsersWith(writes, function* (outcomes) {
      yield* requireOwnUsers()
      return outcomes
    })
    .catch((error) => {
      if (error instanceof UsersAreCopied) return undefined
      throw error
    })

/** CouchDB first, with the revision that the copy has. */
async function writeBoth(
  deps: WriteThroughDeps,
  store: Store,
  write: UserWrite,
  stored: Stored | undefined,
): Promise<UserWriteOutcome> {
  const { database, prefix, kernel } = deps
  const { record } = write
  await requireReady(deps, stored)
  await deps.requireVerifiable(record, stored?.record)
  const [trial] = await store.importUsers([write], true)
  if (trial?.kind !== 'written') return trial ?? { kind: 'conflict', current: write.expected }
  const id = `${prefix}${record.name}`
  const current = await database.findDocument(id)
  if (current === 'too large') throw new Refusal('forbidden', { reason: WITHHELD })
  if (current?.['_rev'] !== liveRevisionOf(stored)) return refresh(deps, id, write)
  const body = await toBody(deps, record, current, isPasswordHeld(stored?.record, record))
  const intended = { before: stored, after: record, body, nowMs: kernel.clock.nowMs() }
  if (!(await noteIntent(kernel.store.statements, intended)))
    return { kind: 'conflict', current: sequenceOf(await store.findUser(record.name)) }
  const done = await writeIntended(deps, id, record.name, body)
  if (done.kind === 'conflict') return refresh(deps, id, write)
  const given = withPlace(withGivenRevision(record, stored?.record, done.revision), body)
  try {
    const outcome = await complete(store, write, stored?.record, given)
    if (outcome.kind !== 'written') await removeIntent(kernel.store.statements, record.name, body)
    return outcome
  } catch (cause) {
    throw toUnconfirmed(cause)
  }
}

/** An intent stays only as long as its document may have been written. */
async function writeIntended(
  { database, kernel: { store } }: WriteThroughDeps,
  id: string,
  name: string,
  body: Members,
): Promise<WrittenDocument> {
  const done = await database.writeDocument(id, body).catch((cause) => ({ kind: 'failed', cause }) as const)
  if (done.kind === 'written') return done
  if (done.kind === 'conflict' || !mayBeWritten(done.cause)) await removeIntent(store.statements, name, body)
  if (done.kind === 'failed') throw done.cause
  return done
}

const sequenceOf = (stored: Stored | undefined): UserWrite['expected'] => stored?.sequence ?? 'absent'

/** That of the document that is expected in the database. */
const liveRevisionOf = (stored: Stored | undefined): string | undefined =>
  stored?.record.kind === 'user' ? stored.record.document.revision : undefined

const isSameDocument = (before: UserRecord | undefined, after: UserRecord): boolean =>
  before?.kind === after.kind && revisionOf(before) === revisionOf(after) && !losesLimits(before, after)

/** The document gets the password. */
const losesLimits = (before: UserRecord | undefined, after: UserRecord): boolean =>
  before?.kind === 'user' &&
  before.isPasswordApart === true &&
  after.kind === 'user' &&
  isLimited(before) &&
  !isLimited(after)

async function requireReady({ kernel, isStale }: WriteThroughDeps, stored: Stored | undefined): Promise<void> {
  if (isStale()) throw new Refusal('upstream_unavailable', { reason: STALE })
  const { progress } = (await readCopyState(kernel.store.statements)) ?? {}
  if (!progress || progress.phase === 'filling') throw new Refusal('upstream_unavailable', { reason: NOT_COPIED })
  if (progress.phase === 'adopting' || progress.release) throw new Refusal('upstream_unavailable', { reason: MOVING })
  if (stored?.record.kind === 'user' && stored.record.isWithheld) throw new Refusal('forbidden', { reason: WITHHELD })
}

/** Whether a password that CouchDB does not have stays in the store only. Another password is written there. */
const isPasswordHeld = (before: UserRecord | undefined, after: UserRecord): boolean =>
  after.kind === 'user' &&
  isLimited(after) &&
  before?.kind === 'user' &&
  before.isPasswordApart === true &&
  isDeepStrictEqual(before.password, after.password)

/** The record with the note whether the document has its password. */
export function withPlace(record: UserRecord, body: Members): UserRecord {
  if (record.kind === 'tombstone') return record
  const hasPassword = Object.keys(body).some((name) => PASSWORD_MEMBERS.has(name))
  return withField(record, 'isPasswordApart', isUsable(record.password) && !hasPassword)
}

/**
 * With the attachments of the current document, which Cardea does not know. A password that CouchDB cannot verify stays in
 * the store, and so does one that is held back.
 */
export async function toBody(
  { isVerifiable }: Pick<WriteThroughDeps, 'isVerifiable'>,
  record: UserRecord,
  current: Members | undefined,
  isHeld: boolean,
): Promise<Members> {
  const revision = current && { _rev: current['_rev'] }
  const { name } = record
  // with the name, which CouchDB compares when the next user of the name is replicated over the deletion
  if (record.kind === 'tombstone') return { ...revision, _deleted: true, name }
  const { document, password } = record
  const { _attachments } = current ?? {}
  return {
    ...revision,
    name,
    type: 'user',
    roles: document.roles,
    ...(!isHeld && (await isVerifiable(password)) && toDocumentMembers(password)),
    ...Object.fromEntries(document.members),
    ...(_attachments !== undefined && { _attachments }),
  }
}

/** The copy was not up to date. Brings this user there, so that the writer can decide again. */
async function refresh(deps: WriteThroughDeps, id: string, write: UserWrite): Promise<UserWriteOutcome> {
  const { kernel, findApplyDeps } = deps
  const applying = findApplyDeps()
  if (!applying) throw new Refusal('conflict', { reason: OUTDATED })
  for (;;) {
    const planned = await planCurrent(applying, id)
    const [outcome] = await applyPlan(kernel.store, planned)
    // a deletion is followed by the other user of the name
    if (planned.decision.kind === 'keep' || outcome?.kind === 'look-alike') break
  }
  const stored = await kernel.store.findUser(write.record.name)
  if (sequenceOf(stored) === write.expected) throw new Refusal('conflict', { reason: OCCUPIED })
  return { kind: 'conflict', current: sequenceOf(stored) }
}

/** CouchDB has the change. The store gets it too, whatever another process has written meanwhile. */
async function complete(
  store: Store,
  write: UserWrite,
  before: UserRecord | undefined,
  after: UserRecord,
): Promise<UserWriteOutcome> {
  let { expected } = write
  let record = after
  for (;;) {
    const outcome = await store.writeUser({ ...write, expected, record })
    if (outcome.kind === 'written') return { ...outcome, record }
    if (outcome.kind !== 'conflict') return outcome
    const stored = await store.findUser(after.name)
    expected = sequenceOf(stored)
    record = mergeWritten(before, after, stored?.record)
  }
}
