import { isDeepStrictEqual } from 'node:util'
import { nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { yieldToOthers } from '../../base/pace.ts'
import type { StoredPassword } from '../../passwords/schemes.ts'
import { bindTokens } from '../access-token.ts'
import { type Caller, PROGRAM } from '../caller.ts'
import type { DirectoryParts } from '../parts.ts'
import type { Stored, UserWrite } from '../store-port/users.ts'
import { findApart } from './apart.ts'
import { requireDistinct } from './check-user.ts'
import { applyUpdate, toNewUser, toReplacement, withImportedEpoch } from './revisions.ts'
import type { User, UserDraft } from './user.ts'
import { requireDraft, type UserEditor } from './user-operations.ts'
import { WRITE_REASONS } from './user-writer.ts'

type OnTaken = 'keep' | 'replace'

/**
 * The result for one draft. `kept`: the name was taken, or the user equals the draft; nothing was changed. `user`: the
 * one that has the name.
 */
export type ImportOutcome =
  | { readonly kind: 'created' | 'replaced' | 'kept'; readonly user?: User }
  | { readonly kind: 'refused'; readonly error: Error }

/** A write and its data, or the outcome of a draft that needs no write. */
type Plan =
  | { readonly kind: 'write'; readonly write: UserWrite; readonly planned: Planned }
  | { readonly kind: 'done'; readonly outcome: ImportOutcome }

interface Planned {
  readonly draft: UserDraft
  readonly password: StoredPassword
  /** Another stored form of the user's current password. */
  readonly isSame: boolean
  readonly done: 'created' | 'replaced'
}

/**
 * Imports a few hundred drafts in one transaction. Each has its own outcome, in the same order. In a trial nothing is
 * written, and the outcomes are those a real import would have.
 */
export const createImportUsers =
  (parts: DirectoryParts, editor: UserEditor) =>
  async (
    drafts: readonly UserDraft[],
    caller: Caller,
    onTaken: OnTaken,
    { isTrial = false } = {},
  ): Promise<readonly ImportOutcome[]> => {
    const plans = await planAll(parts, drafts, { onTaken, isTrial })
    const outcomes = await writeAll(parts, caller, plans, isTrial)
    if (isTrial)
      return plans.map((step) =>
        step.kind === 'done' ? step.outcome : (outcomes.get(step) ?? { kind: step.planned.done }),
      )
    const results: ImportOutcome[] = []
    for (const [index, step] of plans.entries()) {
      const outcome =
        step.kind === 'done' ? step.outcome : (outcomes.get(step) ?? (await retry(editor, caller, step, onTaken)))
      const name = drafts[index]?.name
      if (name !== undefined && isChange(outcome)) parts.revocations.notify({ kind: 'account', name })
      results.push(outcome)
    }
    recordImport(parts, results)
    return results
  }

function recordImport({ events }: DirectoryParts, outcomes: readonly ImportOutcome[]): void {
  const count = (wanted: ImportOutcome['kind']) => outcomes.filter(({ kind }) => kind === wanted).length
  const [created, replaced, kept, refused] = [count('created'), count('replaced'), count('kept'), count('refused')]
  events.record('users.imported', { created, replaced, kept, refused })
}

const isChange = ({ kind }: ImportOutcome): boolean => kind === 'created' || kind === 'replaced'

const KEPT: Plan = Object.freeze({ kind: 'done', outcome: Object.freeze({ kind: 'kept' }) })

interface PlanRules {
  readonly onTaken: OnTaken
  readonly isTrial: boolean
}

/** Users looked up at the same time. */
const BATCH_SIZE = 32

async function planAll(parts: DirectoryParts, drafts: readonly UserDraft[], rules: PlanRules) {
  const plans: Plan[] = []
  for (let from = 0; from < drafts.length; from += BATCH_SIZE) {
    const some = drafts.slice(from, from + BATCH_SIZE)
    const found = await Promise.all(some.map(({ name }) => parts.store.findUser(name)))
    // one after the other: an import must not fill the queue for hashing
    for (const [index, draft] of some.entries()) {
      plans.push(await plan(parts, draft, found[index], rules).catch(toRefused))
    }
    // SQLite never waits: without this pause no other request would be served
    await yieldToOthers()
  }
  return plans
}

async function plan(
  parts: DirectoryParts,
  draft: UserDraft,
  stored: Stored | undefined,
  { onTaken, isTrial }: PlanRules,
): Promise<Plan> {
  requireDraft(parts, draft)
  const user = stored?.record.kind === 'user' ? stored.record : undefined
  if (user && onTaken === 'keep') return { kind: 'done', outcome: { kind: 'kept', user } }
  if (!user) requireDistinct(draft.name, parts)
  const { stored: password, isSame } = await toStored(parts, draft, user?.password, isTrial)
  const planned: Planned = { draft, password, isSame, done: user ? 'replaced' : 'created' }
  const write = {
    ...toWrite(planned, stored, nowSeconds(parts.clock)),
    isDistinct: !user && parts.settings().auth.names === 'folded',
  }
  const apart = parts.settings().addressesSignIn ? findApart(stored?.record, write.record) : {}
  // an import that is repeated must not change what it has written before
  return isDeepStrictEqual(write.record, stored?.record) ? KEPT : { kind: 'write', write: { ...write, apart }, planned }
}

/** In a trial a password in clear is only checked: hashing it would be expensive. A client that disconnects stops no import. */
async function toStored(
  { passwords }: DirectoryParts,
  draft: UserDraft,
  before: StoredPassword | undefined,
  isTrial: boolean,
) {
  const { password } = draft
  if (isTrial) await passwords.check(draft, password)
  else if (password && before) return passwords.toReplacement(password, { ...draft, password: before }, PROGRAM)
  const isClear = password !== undefined && 'password' in password
  return { stored: await passwords.toStored(draft, isTrial && isClear ? undefined : password, PROGRAM), isSame: false }
}

function toWrite({ draft, password, isSame }: Planned, stored: Stored | undefined, now: number): UserWrite {
  const before = stored?.record
  const record =
    before?.kind === 'user' ? toReplaced(before, { draft, password, isSame }, now) : toNewUser(draft, password, before)
  return { expected: stored?.sequence ?? 'absent', record, isMoved: true, change: { before, at: now } }
}

function toReplaced(before: User, { draft, password, isSame }: Omit<Planned, 'done'>, now: number): User {
  const replacement = toReplacement(draft, password, before)
  const updated = applyUpdate(before, replacement, {
    nowSeconds: now,
    mustChangePassword: draft.mustChangePassword,
    ...(isSame && { isSamePassword: true }),
  })
  return bindTokens(withImportedEpoch(updated, draft))
}

/** Writes all planned users in one transaction. Returns the outcomes of those that need no second attempt. */
async function writeAll({ begin, cache }: DirectoryParts, caller: Caller, plans: readonly Plan[], isTrial: boolean) {
  const { store } = await begin(caller)
  const steps = plans.filter((step) => step.kind === 'write')
  const done = new Map<Plan, ImportOutcome>()
  try {
    const outcomes = await store.importUsers(
      steps.map(({ write }) => write),
      isTrial,
    )
    for (const [index, step] of steps.entries()) {
      const kind = outcomes[index]?.kind
      if (kind === 'written') done.set(step, { kind: step.planned.done })
      const reason = kind && WRITE_REASONS.get(kind)
      if (reason) done.set(step, { kind: 'refused', error: new Refusal('conflict', { reason }) })
    }
    return done
  } finally {
    for (const { write } of steps) cache.forget(write.record.name)
  }
}

/** Another writer was faster, or the import contains the name twice: the name is taken by now. */
async function retry(editor: UserEditor, caller: Caller, step: Plan, onTaken: OnTaken): Promise<ImportOutcome> {
  if (step.kind === 'done') return step.outcome
  if (onTaken === 'keep') return { kind: 'kept' }
  const { draft, password } = step.planned
  try {
    const { mustChangePassword = false } = draft
    const replace = (user: User) => toReplacement(draft, password, user)
    await editor.changeUser(draft.name, caller, replace, { mustChangePassword })
    return { kind: 'replaced' }
  } catch (error) {
    return toRefused(error).outcome
  }
}

function toRefused(error: unknown): Plan & { kind: 'done' } {
  if (!(error instanceof Refusal) || error.code === 'store_unavailable') throw error
  return { kind: 'done', outcome: { kind: 'refused', error } }
}
