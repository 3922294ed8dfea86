// Brings users in the store to what documents of the database say, in one transaction with how far the feed is read.
import { nowSeconds } from '../../base/clock.ts'
import { yieldToOthers } from '../../base/pace.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Stored, UserWrite, UserWriteOutcome, WrittenChange } from '../../directory/store-port/users.ts'
import type { User, UserRecord } from '../../directory/users/user.ts'
import { NAME_TAKEN } from '../../directory/users/user-writer.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import type { UsersDatabase } from './database.ts'
import { type Decision, decide, KEEP } from './decide.ts'
import { hasIntents, withIntent } from './intents.ts'
import { type ReadDocument, readCurrent } from './reading.ts'
import { type Advance, advanceCopy, noteDocuments, type RefusedDocument } from './state.ts'

export interface ApplyDeps {
  readonly kernel: Pick<Kernel, 'store' | 'clock' | 'events'>
  readonly database: UsersDatabase
  readonly directory: Pick<Directory, 'isAdministrator' | 'findConfusion'>
  /** What the ids of user documents begin with. */
  readonly prefix: string
  /** Whether CouchDB can verify the password. */
  isVerifiable(password: StoredPassword): Promise<boolean>
  /** Waits for writes of this process to these users. */
  settle(names: readonly string[]): Promise<void>
  /** Whether new names must differ from others in more than case. */
  hasFoldedNames(): boolean
}

export interface Plan {
  readonly document: ReadDocument
  readonly expected: UserWrite['expected']
  readonly change: WrittenChange
  readonly isDistinct: boolean
  readonly decision: Exclude<Decision, { kind: 'ask' }>
}

/** Planned at the same time: some of the documents have to be read. */
const BATCH_SIZE = 16

/** Returns whether everything is written. If not, a change of Cardea's own was faster, and the same is to be done again. */
export async function applyDocuments(
  deps: ApplyDeps,
  documents: readonly ReadDocument[],
  next: Advance,
  before: Advance,
): Promise<boolean> {
  const { store } = deps.kernel
  // the feed may have a change of Cardea's own sooner than the store
  await deps.settle(documents.map(({ name }) => name))
  // after the page was read: an intent is noted before its document is written
  const mayBeIntended = await hasIntents(store.statements)
  const find = await findAll(
    deps,
    documents.map(({ name }) => name),
  )
  const plans = await inBatches(documents, (document) => plan(deps, document, find(document.name), mayBeIntended))
  const replaced = plans.filter(({ decision }) => decision.kind === 'replace-user')
  if (replaced.length > 0) {
    const done = await store.writeUsersWith(replaced.flatMap(toWrite), function* (outcomes) {
      yield* advanceCopy(before)
      return outcomes.every(isWritten)
    })
    if (!done) return false
  }
  const others = plans.filter(({ decision }) => decision.kind !== 'replace-user')
  const all = [...others, ...(await inBatches(replaced, ({ document: { id } }) => planCurrent(deps, id)))]
  const writing = all.filter(({ decision }) => decision.kind === 'write')
  const isDone = await store.writeUsersWith(writing.flatMap(toWrite), function* (outcomes) {
    const isReplaced = all.some(({ decision }) => decision.kind === 'replace-user')
    const isComplete = !isReplaced && outcomes.every((outcome) => outcome.kind !== 'conflict')
    const notes = listNotes(all, new Map(writing.map((plan, index) => [plan, outcomes[index]])))
    yield* advanceCopy({ ...(isComplete ? next : before), ...notes })
    return isComplete
  })
  if (isDone) recordConflicts(deps, writing)
  return isDone
}

const isWritten = ({ kind }: UserWriteOutcome): boolean => kind === 'written'

/** A document that was read by itself, whatever the feed has brought of it. */
export const applyPlan = (store: ApplyDeps['kernel']['store'], plan: Plan): Promise<readonly UserWriteOutcome[]> =>
  store.writeUsersWith(toWrite(plan), function* (outcomes) {
    const [outcome] = outcomes
    yield* noteDocuments(listNotes([plan], new Map([[plan, outcome]])))
    return outcomes
  })

/** With the change only for a deletion: any other may be one of Cardea's own, whose write reports it. */
function toWrite({ expected, change, decision, document: { reading }, isDistinct }: Plan): readonly UserWrite[] {
  if (decision.kind === 'keep') return []
  const { record } = decision
  if (record.kind === 'user') return [{ expected, record, isDistinct, isMoved: true }]
  const isSeen = reading.kind === 'deleted' && reading.revision !== undefined
  return [{ expected, record, isUncertain: !isSeen, change }]
}

async function inBatches<T, R>(all: readonly T[], work: (each: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = []
  for (let from = 0; from < all.length; from += BATCH_SIZE) {
    done.push(...(await Promise.all(all.slice(from, from + BATCH_SIZE).map(work))))
    // SQLite never waits: the next page of the feed, and requests, would
    await yieldToOthers()
  }
  return done
}

/** Decides about a line of the feed; with the document itself if that is needed. */
async function plan(deps: ApplyDeps, document: ReadDocument, stored: Found, mayBeIntended: boolean): Promise<Plan> {
  return (await tryPlan(deps, stored, document, mayBeIntended)) ?? planCurrent(deps, document.id)
}

/** Decides about the document as it is now. */
export async function planCurrent(deps: ApplyDeps, id: string): Promise<Plan> {
  const { database, prefix } = deps
  const name = id.slice(prefix.length)
  const find = await findAll(deps, [name])
  // after the stored record: what is written meanwhile has another sequence
  const document = readCurrent(id, await database.findDocument(id), prefix)
  const planned = await tryPlan(deps, find(name), document)
  if (!planned) throw new TypeError('the document itself was not enough')
  return planned
}

/** `undefined`: what was read is not enough. */
async function tryPlan(
  deps: ApplyDeps,
  stored: Found,
  given: ReadDocument,
  mayBeIntended = true,
): Promise<Plan | undefined> {
  if (stored === 'damaged') return keepDamaged(given)
  const before = stored?.record
  const at = nowSeconds(deps.kernel.clock)
  const document = await withRules(deps, given, before?.kind === 'user' ? before : undefined)
  const decided = decide(stored, document, at)
  if (decided.kind === 'ask') return undefined
  const decision = mayBeIntended ? await withIntended(deps, before, document, decided) : decided
  const isDistinct = deps.hasFoldedNames() && before?.kind !== 'user'
  return { expected: stored?.sequence ?? 'absent', change: { before, at }, isDistinct, document, decision }
}

async function withIntended<D extends Decision>(
  { kernel: { store } }: ApplyDeps,
  before: UserRecord | undefined,
  { reading }: ReadDocument,
  decision: D,
): Promise<D> {
  if (decision.kind !== 'write' || decision.record.kind !== 'user') return decision
  return { ...decision, record: await withIntent(store.statements, before, reading, decision.record) }
}

type Found = Stored | undefined | 'damaged'

async function findAll({ kernel: { store } }: ApplyDeps, names: readonly string[]): Promise<(name: string) => Found> {
  const damaged = new Set<string>()
  const users = await store.findUsers(names, (name) => damaged.add(name))
  return (name) => (damaged.has(name) ? 'damaged' : users.get(name))
}

/** One record that must be restored does not keep the changes of others from the store. */
function keepDamaged({ id, name }: ReadDocument): Plan {
  const reading = { kind: 'unreadable', revision: undefined, reason: 'The record in the store is damaged.' } as const
  const change = { before: undefined, at: 0 }
  return { expected: 'absent', change, isDistinct: false, document: { id, name, reading }, decision: KEEP }
}

/** The document as far as Cardea accepts it. The name of a new user must not be, or look like, that of an administrator. */
async function withRules(deps: ApplyDeps, document: ReadDocument, before: User | undefined) {
  const { directory, database, isVerifiable } = deps
  const { name, reading } = document
  if (reading.kind !== 'user') return document
  const why = directory.isAdministrator(name) ? 'An administrator has this name.' : directory.findConfusion(name)
  if (!before && why !== undefined)
    return { ...document, reading: { kind: 'unreadable', revision: reading.revision, reason: why } as const }
  const isConflicted = reading.isConflicted && !(await database.allowsConflicts())
  // asked again for the next user of the name, who has no password then
  const isPasswordKept =
    before !== undefined &&
    !isUsable(reading.password) &&
    (before.isPasswordApart === true || !(await isVerifiable(before.password)))
  return { ...document, reading: { ...reading, isConflicted, isPasswordKept } }
}

function listNotes(plans: readonly Plan[], outcomes: ReadonlyMap<Plan, UserWriteOutcome | undefined>) {
  const refused: RefusedDocument[] = []
  const accepted: string[] = []
  for (const each of plans) {
    const { id, reading } = each.document
    if (reading.kind === 'unreadable') refused.push({ document: id, kind: 'left-out', reason: reading.reason })
    else if (outcomes.get(each)?.kind === 'look-alike')
      refused.push({ document: id, kind: 'left-out', reason: NAME_TAKEN })
    else if (isConflict(each)) refused.push({ document: id, kind: 'conflict', reason: 'It has conflicts.' })
    else accepted.push(id)
  }
  return { refused, accepted }
}

const isConflict = ({ document: { reading } }: Plan): boolean => reading.kind === 'user' && reading.isConflicted

function recordConflicts({ kernel: { events } }: ApplyDeps, plans: readonly Plan[]): void {
  for (const each of plans) if (isConflict(each)) events.record('directory.conflict', { subject: each.document.name })
}
