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

interface PlannedUser {
  readonly name: string
  readonly id: string
  readonly body: Members
  /** That of the document which is there. */
  readonly revision: string | undefined
  readonly change: 'created' | 'replaced' | 'equal'
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
  const isEqual = current !== undefined && isDeepStrictEqual(toPlain({ ...body, _id: id }), toPlain(current))
  return {
    name: user.name,
    id,
    body,
    revision: current && String(current['_rev']),
    change: isEqual ? 'equal' : current ? 'replaced' : 'created',
    isPasswordKept: !isHeld && !(await deps.isVerifiable(user.password)),
    isPasswordHeld: isHeld,
  }
}

const toPlain = (document: object): unknown => JSON.parse(JSON.stringify(document))

/** What follows the last page is a comparison with all documents, as after a restored backup. */
export async function adoptPage(
  deps: AdoptionDeps & { readonly kernel: Kernel },
  { holder, progress, freshMs }: CopyState,
  signal: AbortSignal,
): Promise<CopyState> {
  const { store, clock } = deps.kernel
  const from = progress.since === '' ? {} : { from: { name: progress.since, isInclusive: false } }
  const users = await store.listUsers({ ...from, limit: PAGE_SIZE })
  let left = users
  while (left.length > 0) {
    signal.throwIfAborted()
    left = await adoptUsers(deps, left, progress.replaces === true)
  }
  const advance = { holder, nowMs: clock.nowMs(), freshMs, progress: toNext(progress, users) }
  await store.writeUsersWith([], () => advanceCopy(advance))
  return advance
}

function toNext(progress: CopyProgress, users: readonly Stored<User>[]): CopyProgress {
  const last = users.length === PAGE_SIZE ? users.at(-1) : undefined
  if (!last) return { ...toComparing(progress), isAdopted: true }
  const [done, pending] = [progress.done + users.length, Math.max(0, progress.pending - users.length)]
  return { ...progress, since: last.record.name, done, pending }
}

/** Returns those that were changed meanwhile, here or there. */
async function adoptUsers(
  deps: AdoptionDeps & { readonly kernel: Kernel },
  users: readonly Stored<User>[],
  replaces: boolean,
): Promise<readonly Stored<User>[]> {
  const { store } = deps.kernel
  const plans = await planUsers(
    deps,
    users.map(({ record }) => record),
  )
  const revisions = await Promise.all(plans.map((plan) => writePlanned(deps, plan, replaces)))
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
async function writePlanned({ database }: AdoptionDeps, plan: PlannedUser, replaces: boolean) {
  const { name, id, body, revision, change } = plan
  if (change === 'equal') return revision
  if (change === 'replaced' && !replaces)
    throw new Refusal('conflict', {
      detail: `CouchDB has another document of the user ${name}: cardea directory adopt --replace replaces it`,
    })
  const done = await database.writeDocument(id, body).catch((cause) => {
    if (!(cause instanceof Refusal && isClientError(cause))) throw cause
    const { reason, message } = cause
    throw new Refusal('upstream_failed', { detail: `CouchDB refuses the user ${name}: ${reason ?? message}`, cause })
  })
  return done.kind === 'written' ? done.revision : undefined
}
