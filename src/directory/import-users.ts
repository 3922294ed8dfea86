import { setImmediate as giveWay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { NO_PASSWORD } from '../passwords/password.ts'
import type { StoredPassword } from '../passwords/schemes.ts'
import { bindTokens } from './access-token.ts'
import { settle, toNewUser, toReplacement, withEnded } from './apply-update.ts'
import { requireDistinct } from './check-user.ts'
import type { ImportOutcome, UserDirectory, UserDraft } from './directory.ts'
import type { ReplacementPassword } from './new-passwords.ts'
import type { Stored, UserWrite } from './store-port.ts'
import type { UserMemory } from './user-memory.ts'
import { requireDraft, type UserParts, type Users } from './user-operations.ts'

export interface ImportParts extends UserParts {
  readonly users: Pick<Users, 'changeUser'>
  readonly memory: UserMemory
}

type OnTaken = 'keep' | 'replace'

/** A write and what it will have been, or an outcome that needs none. */
type Plan =
  | { readonly kind: 'write'; readonly write: UserWrite; readonly planned: Planned }
  | { readonly kind: 'done'; readonly outcome: ImportOutcome }

interface Planned {
  readonly draft: UserDraft
  readonly password: StoredPassword
  /** Another stored form of the password the user has. */
  readonly isSame: boolean
  readonly done: 'created' | 'replaced'
}

export const createImportUsers =
  (parts: ImportParts): UserDirectory['importUsers'] =>
  async (drafts, onTaken, { isTrial = false } = {}) => {
    const plans = await planAll(parts, drafts, { onTaken, toStored: isTrial ? tryPassword : storePassword })
    if (isTrial) return plans.map(toTrialOutcome)
    const outcomes = await writeAll(parts, plans)
    const settled: ImportOutcome[] = []
    for (const [index, step] of plans.entries()) {
      const outcome = step.kind === 'done' ? step.outcome : (outcomes.get(step) ?? (await retry(parts, step, onTaken)))
      const name = drafts[index]?.name
      if (name !== undefined && isChange(outcome)) parts.listeners.tell({ kind: 'account', name })
      settled.push(outcome)
    }
    recordImport(parts, settled)
    return settled
  }

function recordImport({ events }: ImportParts, outcomes: readonly ImportOutcome[]): void {
  const count = (wanted: ImportOutcome['kind']) => outcomes.filter(({ kind }) => kind === wanted).length
  const [created, replaced, kept, refused] = [count('created'), count('replaced'), count('kept'), count('refused')]
  events.record('users.imported', { created, replaced, kept, refused })
}

const isChange = ({ kind }: ImportOutcome): boolean => kind === 'created' || kind === 'replaced'

const KEPT: Plan = Object.freeze({ kind: 'done', outcome: Object.freeze({ kind: 'kept' }) })

interface PlanRules {
  readonly onTaken: OnTaken
  readonly toStored: ToStored
}

/** So many are looked up at once. */
const AT_ONCE = 32

async function planAll(parts: ImportParts, drafts: readonly UserDraft[], rules: PlanRules): Promise<readonly Plan[]> {
  const plans: Plan[] = []
  for (let from = 0; from < drafts.length; from += AT_ONCE) {
    const some = drafts.slice(from, from + AT_ONCE)
    const found = await Promise.all(some.map(({ name }) => parts.store.findUser(name)))
    // one after the other: passwords in clear must not take all places where passwords are hashed
    for (const [index, draft] of some.entries()) {
      plans.push(await plan(parts, draft, found[index], rules).catch(toRefused))
    }
    // an embedded store answers at once: without a pause nobody else would be served meanwhile
    await giveWay()
  }
  return plans
}

async function plan(
  parts: ImportParts,
  draft: UserDraft,
  stored: Stored | undefined,
  { onTaken, toStored }: PlanRules,
): Promise<Plan> {
  requireDraft(parts, draft)
  const isTaken = stored?.record.kind === 'user'
  if (isTaken && onTaken === 'keep') return KEPT
  if (!isTaken) requireDistinct(draft.name, parts.administration.accounts().keys())
  const before = stored?.record.kind === 'user' ? stored.record.password : undefined
  const { stored: password, isSame } = await toStored(parts, draft, before)
  const planned: Planned = { draft, password, isSame, done: isTaken ? 'replaced' : 'created' }
  const write = toWrite(planned, stored, nowSeconds(parts.clock))
  // an import that is begun again must not move what it has done already
  return isDeepStrictEqual(write.record, stored?.record) ? KEPT : { kind: 'write', write, planned }
}

type ToStored = (
  parts: ImportParts,
  draft: UserDraft,
  before: StoredPassword | undefined,
) => Promise<ReplacementPassword>

const storePassword: ToStored = async ({ passwords }, { password }, before) => {
  if (password && before) return passwords.toReplacement(password, before, undefined)
  return { stored: await passwords.toStored(password, undefined), isSame: false }
}

/** Judges a password in clear and leaves it at that: hashing is dear. */
const tryPassword: ToStored = async ({ passwords }, { password }) => {
  passwords.judge(password)
  return { stored: password && 'stored' in password ? password.stored : NO_PASSWORD, isSame: false }
}

const toTrialOutcome = (step: Plan): ImportOutcome =>
  step.kind === 'done' ? step.outcome : { kind: step.planned.done }

function toWrite({ draft, password, isSame }: Planned, stored: Stored | undefined, now: number): UserWrite {
  const before = stored?.record
  const record =
    before?.kind === 'user'
      ? bindTokens(withEnded(settle(before, toReplacement(draft, password, before), now, isSame || undefined), draft))
      : toNewUser(draft, password, before)
  return { expected: stored?.sequence ?? 'absent', record }
}

/** What has been written, all at once. */
async function writeAll({ store, memory }: ImportParts, plans: readonly Plan[]): Promise<Map<Plan, ImportOutcome>> {
  const steps = plans.filter((step) => step.kind === 'write')
  const done = new Map<Plan, ImportOutcome>()
  try {
    const outcomes = await store.importUsers(steps.map(({ write }) => write))
    for (const [index, step] of steps.entries()) {
      if (outcomes[index]?.kind === 'written') done.set(step, { kind: step.planned.done })
    }
    return done
  } finally {
    for (const { write } of steps) memory.forget(write.record.name)
  }
}

/** Somebody was faster, or the name stands twice in the import: it is taken by now. */
async function retry({ users }: ImportParts, step: Plan, onTaken: OnTaken): Promise<ImportOutcome> {
  if (step.kind === 'done') return step.outcome
  if (onTaken === 'keep') return { kind: 'kept' }
  const { draft, password } = step.planned
  try {
    await users.changeUser(draft.name, 'any', (user) => toReplacement(draft, password, user))
    return { kind: 'replaced' }
  } catch (error) {
    return toRefused(error).outcome
  }
}

function toRefused(error: unknown): Plan & { kind: 'done' } {
  if (!(error instanceof Refusal) || error.code === 'store_unavailable') throw error
  return { kind: 'done', outcome: { kind: 'refused', error } }
}
