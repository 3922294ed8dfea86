/**
 * Follows the changes of the users database. Of all processes that share the store one does, which has the lease; the
 * others see in the store how far it is. Each page is written with the sequence that it reaches, so a page that breaks off,
 * or a process that ends, leaves nothing half done.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { UserRange } from '../../directory/store-port/users.ts'
import { listUserPages } from '../../directory/users/user-operations.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { adoptPage } from './adopt.ts'
import { type ApplyDeps, applyDocuments } from './apply.ts'
import { createPages, type PageDeps, type Pages, type ReadPage, toPauses } from './pages.ts'
import { readChange, toUnread } from './reading.ts'
import { releaseCopy } from './release.ts'
import {
  type Advance,
  advanceCopy,
  type CopyProgress,
  type CopyState,
  claimLease,
  endLease,
  isWholeId,
  LeaseLost,
  listRefusedDocuments,
  readCopyState,
} from './state.ts'

/** The pause after a failure that was none, and between two looks while the users are the store's own. */
const LOST_MS = 500
const OWN_LOOK_MS = 1000
const MAX_BACK_OFF_MS = 5000
/** How often documents that are no users are looked at again, and how many of them. */
const REVIEW_MS = 10_000
const REVIEW_SIZE = 100

export interface FollowDeps extends ApplyDeps, PageDeps {
  readonly kernel: Kernel
}

/** What this process knows of the copy. */
export interface CopyView {
  /** `undefined`: the users are the store's own. */
  readonly progress: CopyProgress | undefined
  /** By the monotonic clock of this process; `undefined`: the copy was never complete. */
  readonly freshAtMs: number | undefined
  /** Why the last attempt of this process failed. */
  readonly problem: string | undefined
}

/** `known`: the state when the store was opened. Calls `show` whenever there is something to report. */
export function createFollower(deps: FollowDeps, known: CopyState | undefined, show: (view: CopyView) => void) {
  const { store, log } = deps.kernel
  const turns = createTurns(deps)
  const toFreshAt = createFreshness(deps.kernel.clock)
  let state = known
  let failures = 0
  const report = (problem?: string) =>
    show({ progress: state?.progress, freshAtMs: toFreshAt(state?.freshMs ?? 0), problem })
  const look = async (signal: AbortSignal): Promise<number> => {
    const before = state
    state = await turns.begin()
    report()
    if (!state !== !before) log.info(state ? 'the users become those of CouchDB' : 'the users are those of Cardea')
    if (!state) return OWN_LOOK_MS
    if (!turns.isHolder(state)) return toPauses(deps.maxStalenessMs()).lookMs
    state = await turns.take(state, signal)
    report()
    if (failures > 0) log.info('the users in CouchDB are followed again')
    failures = 0
    return 0
  }
  return {
    /** Looks once, follows at most one page, and returns the milliseconds until it has to be called again. */
    async attempt(signal: AbortSignal): Promise<number> {
      try {
        return await look(signal)
      } catch (error) {
        if (signal.aborted || error instanceof LeaseLost) return LOST_MS
        // only the store can have failed, and its own check reports that
        if (!state) return OWN_LOOK_MS
        failures += 1
        const problem = describeFailure(error)
        if (failures === 1) log.warn('the users in CouchDB cannot be followed', { reason: problem, error })
        report(problem)
        return Math.min(100 * 2 ** Math.min(failures, 10), MAX_BACK_OFF_MS)
      }
    },
    async end(): Promise<void> {
      await turns.end()
      await endLease(store.statements, turns.holder).catch(() => {})
    },
  }
}

/** What the process does that has the lease. */
function createTurns(deps: FollowDeps) {
  const { store, clock, siblings } = deps.kernel
  const holder = randomUUID()
  const pages = createPages(deps)
  const reviewRefused = createReview(deps)
  return {
    holder,
    isHolder: (state: CopyState): boolean => state.holder === holder,
    /** With the lease, if this process may have it and no other one has it. */
    async begin(): Promise<CopyState | undefined> {
      const state = await readCopyState(store.statements)
      if (!state) return undefined
      if (!siblings.isFirst()) {
        if (state.holder === holder) await endLease(store.statements, holder)
        return { ...state, holder: '' }
      }
      // the process that has the lease renews it with each page
      return state.holder === holder ? state : claimLease(store.statements, holder, clock.nowMs())
    },
    /** Returns `undefined` if the users are the store's own by now. */
    async take(state: CopyState, signal: AbortSignal): Promise<CopyState | undefined> {
      if (state.progress.release === 'now') return releaseCopy(deps.kernel, deps.prefix, holder)
      if (state.progress.phase === 'adopting') return adoptPage(deps, state, signal)
      if (state.progress.phase === 'following') await reviewRefused(state)
      const read = await pages.read(state.progress, signal)
      return read ? storePage(deps, { state, pages, signal }, read) : state
    },
    end: pages.end,
  }
}

/**
 * When the copy was complete, by the monotonic clock. Each time is compared with the store's clock once: later that clock
 * may jump, and the copy would seem as new as when it was read.
 */
export function createFreshness(clock: Clock): (freshMs: number) => number | undefined {
  let known = { freshMs: 0, atMs: 0 }
  return (freshMs) => {
    if (freshMs === 0) return undefined
    if (freshMs !== known.freshMs) known = { freshMs, atMs: performance.now() - Math.max(0, clock.nowMs() - freshMs) }
    return known.atMs
  }
}

const describeFailure = (error: unknown): string =>
  error instanceof Refusal ? (error.detail ?? error.message) : 'an internal error, see the log'

interface Turn {
  readonly state: CopyState
  readonly pages: Pages
  readonly signal: AbortSignal
}

async function storePage(deps: FollowDeps, turn: Turn, read: ReadPage): Promise<CopyState | undefined> {
  const { state, pages, signal } = turn
  const { page, progress, startMs } = read
  const isFresh = page.isLast && (progress.phase !== 'comparing' || progress.isSwept === true)
  const next = toNext(read, isFresh)
  if (!page.isLast) pages.readAhead(next, signal)
  const common = { holder: state.holder, nowMs: deps.kernel.clock.nowMs() }
  const before = { ...common, freshMs: state.freshMs, progress }
  const isRenewed = isFresh || next.isAdopted === true
  const advance = { ...common, freshMs: isRenewed ? startMs : state.freshMs, progress: next }
  const documents = page.rows.flatMap((row) => readChange(row, deps.prefix) ?? [])
  if (!(await applyDocuments(deps, documents, advance, before))) return { ...state, progress }
  if (isFresh && page.rows.length === 0 && next.release) return releaseCopy(deps.kernel, deps.prefix, state.holder)
  return page.isLast && !isFresh ? sweep(deps, advance, signal) : advance
}

const toNext = ({ page, progress, entry }: ReadPage, isFresh: boolean): CopyProgress => ({
  ...progress,
  phase: isFresh ? 'following' : progress.phase,
  since: page.lastSeq,
  checkpoint: entry,
  done: progress.done + page.rows.length,
  pending: page.pending,
})

/**
 * After all changes were read again: removes users that the database no longer has. What has changed there meanwhile is
 * read next.
 */
async function sweep(deps: FollowDeps, advance: Advance, signal: AbortSignal): Promise<CopyState> {
  const { store, clock } = deps.kernel
  const { database, prefix } = deps
  const listUsers = async (range: UserRange) => (await store.listUsers(range)).map(({ record }) => record)
  const toNow = (): Advance => {
    const nowMs = clock.nowMs()
    return { ...advance, nowMs, ...(advance.progress.isAdopted && { freshMs: nowMs }) }
  }
  for await (const users of listUserPages({ listUsers })) {
    signal.throwIfAborted()
    const revisions = await database.listRevisions(users.map(({ name }) => `${prefix}${name}`))
    const others = users.filter(({ name, document }) => revisions.get(`${prefix}${name}`) !== document.revision)
    const documents = others.map(({ name }) => toUnread(`${prefix}${name}`, prefix))
    while (!(await applyDocuments(deps, documents, toNow(), toNow())));
  }
  const done: Advance = { ...toNow(), progress: { ...advance.progress, isSwept: true } }
  await store.writeUsersWith([], () => advanceCopy(done))
  return done
}

/**
 * Looks again at documents that are no users, a part of them each time: the reason may have been at Cardea and have ended,
 * as with the name of an administrator, or in the options of CouchDB.
 */
function createReview(deps: FollowDeps): (state: CopyState) => Promise<void> {
  const { store, clock } = deps.kernel
  let after = ''
  let lastMs = performance.now()
  return async (state) => {
    if (performance.now() - lastMs < REVIEW_MS) return
    lastMs = performance.now()
    const refused = await listRefusedDocuments(store.statements, { after, limit: REVIEW_SIZE })
    after = refused[REVIEW_SIZE - 1]?.document ?? ''
    const documents = refused.filter(isWholeId).map(({ document }) => toUnread(document, deps.prefix))
    const advance = { ...state, nowMs: clock.nowMs() }
    if (documents.length > 0) await applyDocuments(deps, documents, advance, advance)
  }
}
