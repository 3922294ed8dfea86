// Brings users in the store to what documents of the database say, in one transaction with how far the feed is read.
import { nowSeconds } from '../../base/clock.ts'
import type { Directory } from '../../directory/directory.ts'
import type { UserWrite, UserWriteOutcome, WrittenChange } from '../../directory/store-port/users.ts'
import type { User } from '../../directory/users/user.ts'
import { NAME_TAKEN } from '../../directory/users/user-writer.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import type { UsersDatabase } from './database.ts'
import { type Decision, decide } from './decide.ts'
import { type ReadDocument, readCurrent } from './reading.ts'
import { type Advance, advanceMirror, type RefusedDocument } from './state.ts'

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
  readonly isNew: boolean
  readonly decision: Exclude<Decision, { kind: 'ask' }>
}

/** Looked up at the same time. */
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
  const plans = await planAll(deps, documents)
  const renewed = plans.filter(({ decision }) => decision.kind === 'renew')
  const done = await store.writeUsersWith(renewed.flatMap(toWrite), function* (outcomes) {
    if (renewed.length > 0) yield* advanceMirror(before)
    return outcomes.every(isWritten)
  })
  if (!done) return false
  const again =
    renewed.length === 0
      ? []
      : await planAll(
          deps,
          renewed.map(({ document }) => document),
        )
  const all = [...plans.filter(({ decision }) => decision.kind !== 'renew'), ...again]
  const writing = all.filter(({ decision }) => decision.kind === 'write')
  const writes = writing.flatMap(toWrite).map((write, index) => ({
    ...write,
    isDistinct: deps.hasFoldedNames() && writing[index]?.isNew === true && write.record.kind === 'user',
  }))
  const isDone = await store.writeUsersWith(writes, function* (outcomes) {
    const isComplete = outcomes.every((outcome) => outcome.kind !== 'conflict')
    const notes = listNotes(all, new Map(writing.map((plan, index) => [plan, outcomes[index]])))
    yield* advanceMirror({ ...(isComplete ? next : before), ...notes })
    return isComplete
  })
  if (isDone) recordConflicts(deps, writing)
  return isDone
}

const isWritten = ({ kind }: UserWriteOutcome): boolean => kind === 'written'

/** With the change only for a deletion: any other may be one of Cardea's own, whose write reports it. */
export function toWrite({ expected, change, decision, document: { reading } }: Plan): readonly UserWrite[] {
  if (decision.kind === 'keep') return []
  const { record } = decision
  if (record.kind === 'user') return [{ expected, record }]
  const isSeen = reading.kind === 'deleted' && reading.revision !== undefined
  return [{ expected, record, isUncertain: !isSeen, change }]
}

async function planAll(deps: ApplyDeps, documents: readonly ReadDocument[]): Promise<readonly Plan[]> {
  const plans: Plan[] = []
  for (let from = 0; from < documents.length; from += BATCH_SIZE)
    plans.push(...(await Promise.all(documents.slice(from, from + BATCH_SIZE).map((each) => plan(deps, each)))))
  return plans
}

export async function plan(deps: ApplyDeps, given: ReadDocument): Promise<Plan> {
  const { store, clock } = deps.kernel
  // before the database is asked: what Cardea writes meanwhile has another sequence
  const stored = await store.findUser(given.name)
  const before = stored?.record.kind === 'user' ? stored.record : undefined
  const isNew = before === undefined
  const now = nowSeconds(clock)
  const seen = await withRules(deps, given, before)
  const first = decide(stored, seen, now)
  const common = {
    expected: stored?.sequence ?? ('absent' as const),
    change: { before: stored?.record, at: now },
    isNew,
  }
  if (first.kind !== 'ask') return { ...common, document: seen, decision: first }
  const current = readCurrent(given.id, await deps.database.findDocument(given.id), deps.prefix)
  const document = await withRules(deps, current, before)
  const decision = decide(stored, document, now)
  if (decision.kind === 'ask') throw new TypeError('the document itself was not enough')
  return { ...common, document, decision }
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
  const isPasswordKept = before !== undefined && !isUsable(reading.password) && !(await isVerifiable(before.password))
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
