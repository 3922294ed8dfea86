/**
 * Users of the store become users of CouchDB: their documents are written there, page by page, and the store keeps all of
 * them as its copy. A page is done again if the process ends in between: a document that is there already is equal.
 */
import { isDeepStrictEqual } from 'node:util'
import { isClientError, Refusal } from '../../base/errors.ts'
import type { Members } from '../../base/json.ts'
import type { Stored } from '../../directory/store-port/users.ts'
import type { User } from '../../directory/users/user.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import { readFeedCheckpoint } from './checkpoint.ts'
import type { UsersDatabase } from './database.ts'
import { withGivenRevision } from './merge.ts'
import { isLimited } from './password-forms.ts'
import { advanceCopy, type CopyProgress, type CopyState, toComparing } from './state.ts'
import { toBody, withPlace } from './write-through.ts'

/** Written at the same time. */
const PAGE_SIZE = 50

export interface AdoptionDeps {
  readonly database: UsersDatabase
  readonly prefix: string
  isVerifiable(password: StoredPassword): Promise<boolean>
}

interface AdoptingDeps extends AdoptionDeps {
  readonly kernel: Kernel
}

interface PlannedUser {
  readonly name: string
  readonly id: string
  readonly body: Members
  /** That of the document which is there. */
  readonly revision: string | undefined
  readonly change: 'created' | 'replaced' | 'equal'
  /** Revisions of it that conflict with that one. */
  readonly conflicts: readonly string[]
  /** CouchDB cannot verify it: the document has none. */
  readonly isPasswordKept: boolean
  /** CouchDB does not know the limits of the user: the document has none. */
  readonly isPasswordHeld: boolean
}

export async function planUsers(deps: AdoptionDeps, users: readonly User[]): Promise<readonly PlannedUser[]> {
  if (users.length === 0) return []
  const documents = await deps.database.listDocuments(users.map(({ name }) => `${deps.prefix}${name}`))
  return Promise.all(users.map((user) => planUser(deps, user, documents.get(`${deps.prefix}${user.name}`))))
}

async function planUser(deps: AdoptionDeps, user: User, current: Members | undefined): Promise<PlannedUser> {
  const id = `${deps.prefix}${user.name}`
  const isHeld = isLimited(user) && isUsable(user.password)
  const body = await toBody(deps, user, current, isHeld)
  const { _conflicts: listed, ...plain } = current ?? {}
  const conflicts = Array.isArray(listed) ? listed.map(String) : []
  const isEqual = conflicts.length === 0 && isDeepStrictEqual(toPlain({ ...body, _id: id }), toPlain(plain))
  return {
    name: user.name,
    id,
    body,
    revision: current && String(current['_rev']),
    change: isEqual ? 'equal' : current ? 'replaced' : 'created',
    conflicts,
    isPasswordKept: !isHeld && !(await deps.isVerifiable(user.password)),
    isPasswordHeld: isHeld,
  }
}

const toPlain = (document: object): unknown => JSON.parse(JSON.stringify(document))

/** What follows the last page is a comparison with all documents, as after a restored backup. */
export async function adoptPage(
  deps: AdoptingDeps,
  { holder, progress, freshMs }: CopyState,
  signal: AbortSignal,
): Promise<CopyState> {
  const { store, clock } = deps.kernel
  // the store was restored from a backup: CouchDB has had these users, and later changes of them
  if ((await readFeedCheckpoint(deps.database, progress)).revision !== undefined)
    return advanceTo(deps, { holder, freshMs, progress: toComparing(progress) })
  const from = progress.since === '' ? {} : { from: { name: progress.since, isInclusive: false } }
  const users = await store.listUsers({ ...from, limit: PAGE_SIZE })
  const written = new Set<string>()
  let left = users
  while (left.length > 0) {
    signal.throwIfAborted()
    left = await adoptUsers(deps, left, { replaces: progress.replaces === true, written })
  }
  return advanceTo(deps, { holder, freshMs: clock.nowMs(), progress: toNext(progress, users) })
}

async function advanceTo({ kernel: { store, clock } }: AdoptingDeps, state: CopyState): Promise<CopyState> {
  await store.writeUsersWith([], () => advanceCopy({ ...state, nowMs: clock.nowMs() }))
  return state
}

interface Replacing {
  /** Whether other documents of the users are replaced. */
  readonly replaces: boolean
  /** Revisions that were written for this page: a user who changed meanwhile is written once more. */
  readonly written: Set<string>
}

function toNext(progress: CopyProgress, users: readonly Stored<User>[]): CopyProgress {
  const last = users.length === PAGE_SIZE ? users.at(-1) : undefined
  if (!last) return { ...toComparing(progress), isAdopted: true }
  const [done, pending] = [progress.done + users.length, Math.max(0, progress.pending - users.length)]
  return { ...progress, since: last.record.name, done, pending }
}

/** Returns those that were changed meanwhile, here or there. */
async function adoptUsers(
  deps: AdoptingDeps,
  users: readonly Stored<User>[],
  replacing: Replacing,
): Promise<readonly Stored<User>[]> {
  const { store } = deps.kernel
  const plans = await planUsers(
    deps,
    users.map(({ record }) => record),
  )
  const revisions = await Promise.all(plans.map((plan) => writePlanned(deps, plan, replacing)))
  const writes = users.flatMap(({ sequence, record }, index) => {
    const revision = revisions[index]
    if (revision === undefined || revision === record.document.revision) return []
    const adopted = withGivenRevision(record, undefined, revision)
    return [{ expected: sequence, record: withPlace(adopted, plans[index]?.body ?? {}) }]
  })
  const outcomes = await store.importUsers(writes)
  const changedHere = writes.filter((_write, index) => outcomes[index]?.kind === 'conflict')
  const changedThere = plans.filter((_plan, index) => revisions[index] === undefined)
  const names = [...changedHere.map(({ record }) => record.name), ...changedThere.map(({ name }) => name)]
  const found = await Promise.all(names.map((name) => store.findUser(name)))
  return found.flatMap((stored) => (stored?.record.kind === 'user' ? [{ ...stored, record: stored.record }] : []))
}

/** The revision of the document; `undefined`: it was changed meanwhile. */
async function writePlanned({ database }: AdoptionDeps, plan: PlannedUser, { replaces, written }: Replacing) {
  const { name, id, body, revision, change, conflicts } = plan
  if (change === 'equal') return revision
  if (change === 'replaced' && !replaces && !written.has(revision ?? ''))
    throw new Refusal('conflict', {
      detail: `CouchDB has another document of the user ${name}: cardea directory adopt --replace replaces it`,
    })
  const done = await database.writeDocument(id, body).catch((cause) => {
    if (!(cause instanceof Refusal && isClientError(cause))) throw cause
    const { reason, message } = cause
    throw new Refusal('upstream_failed', { detail: `CouchDB refuses the user ${name}: ${reason ?? message}`, cause })
  })
  if (done.kind === 'conflict') return undefined
  for (const other of conflicts) await database.writeDocument(id, { _rev: other, _deleted: true, name })
  written.add(done.revision)
  return done.revision
}
