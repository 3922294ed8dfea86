/**
 * Follows the changes of the users database. Of all processes that share the store one does, which has the lease; the
 * others see in the store how far it is. Each page is written with the sequence that it reaches, so a page that breaks off,
 * or a process that ends, leaves nothing half done.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { keepRepeating } from '../../base/sleep.ts'
import type { UserRange } from '../../directory/store-port/users.ts'
import { listUserPages } from '../../directory/users/user-operations.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { Engine } from '../../store/engine.ts'
import { adoptPage } from './adopt.ts'
import { type ApplyDeps, applyDocuments } from './apply.ts'
import type { ChangesPage } from './database.ts'
import { readChange, toUnread } from './reading.ts'
import { releaseCopy } from './release.ts'
import {
  type Advance,
  advanceMirror,
  type CopyProgress,
  claimMirror,
  isWholeId,
  LeaseLost,
  listRefusedDocuments,
  type MirrorState,
  readMirror,
  releaseMirror,
  toComparing,
} from './state.ts'

const MAX_WAIT_MS = 2000
const MAX_LOOK_MS = 500
/** The pause between two looks while the users are the store's own. */
const OWN_LOOK_MS = 1000
const PAGE_SIZE = 500
/** How often documents that are no users are looked at again, and how many of them. */
const REVIEW_MS = 10_000
const REVIEW_SIZE = 100
/**
 * Each page is a transaction, which is synchronised with the disk. In the first copy, which no sign-in waits behind, fewer
 * of them take 3.3 s in place of 4.3 s for 20 000 users (npm run bench -- users-in-couchdb).
 */
const FIRST_PAGE_SIZE = 1000
const MAX_BACK_OFF_MS = 5000
/** Entries of the checkpoint that are kept. More than can be written while a page is. */
const MAX_HISTORY = 20

export interface FollowDeps extends ApplyDeps {
  readonly kernel: Kernel
  /** How old the copy may be. */
  maxStalenessMs(): number
}

/**
 * How long the database waits for a change, and the pause between two looks of the processes that do not follow. The copy
 * is as old as the beginning of the last complete wait, so two of these and a look must be shorter than it may be old.
 */
export function toPauses(maxStalenessMs: number): { readonly waitMs: number; readonly lookMs: number } {
  const waitMs = Math.floor(Math.min(MAX_WAIT_MS, maxStalenessMs / 3))
  return { waitMs, lookMs: Math.min(MAX_LOOK_MS, Math.floor(waitMs / 2)) }
}

/** What this process knows of the copy. */
export interface CopyView {
  readonly progress: CopyProgress | undefined
  /** By the monotonic clock of this process; `undefined`: the copy was never complete. */
  readonly freshAtMs: number | undefined
  /** Why the last attempt of this process failed. */
  readonly problem: string | undefined
}

export const NO_COPY: CopyView = Object.freeze({ progress: undefined, freshAtMs: undefined, problem: undefined })

type Show = (view: CopyView) => void

/** `known`: the state when the store was opened. Calls `show` whenever there is something to tell, until `stop`. */
export function startFollowing(
  deps: FollowDeps,
  known: MirrorState | undefined,
  show: Show,
): { stop(): Promise<void> } {
  const { attempt, end } = createFollower(deps, known, show)
  const stopRepeating = keepRepeating(attempt)
  return {
    async stop() {
      await stopRepeating()
      await end()
    },
  }
}

/** `attempt` looks once, follows at most one page, and returns the milliseconds until it has to be called again. */
export function createFollower(deps: FollowDeps, known: MirrorState | undefined, show: Show) {
  const { store, clock, siblings, log } = deps.kernel
  const holder = randomUUID()
  const pages = createPages(deps)
  const reviewRefused = createReview(deps)
  let state = known
  let failures = 0
  const toFreshAt = createFreshness(clock)
  const tell = (problem?: string) =>
    show({ progress: state?.progress, freshAtMs: toFreshAt(state?.freshMs ?? 0), problem })
  const look = async (signal: AbortSignal): Promise<number> => {
    const isFirst = siblings.isFirst()
    state = await readMirror(store.statements)
    // the process that has the lease renews it with each page
    if (isFirst && state && state.holder !== holder) state = await claimMirror(store.statements, holder, clock.nowMs())
    tell()
    if (!state) return OWN_LOOK_MS
    if (state.holder !== holder) return toPauses(deps.maxStalenessMs()).lookMs
    if (isFirst) {
      if (state.progress.phase === 'following') await reviewRefused(state)
      const turn = { holder, state, pages }
      state = await whileLeased(signal, holder, store.statements, (own) => followPage(deps, { ...turn, signal: own }))
    } else await releaseMirror(store.statements, holder)
    tell()
    return 0
  }
  const attempt = async (signal: AbortSignal): Promise<number> => {
    try {
      const pauseMs = await look(signal)
      if (failures > 0) log.info('the users in CouchDB are followed again')
      failures = 0
      return pauseMs
    } catch (error) {
      if (signal.aborted || error instanceof LeaseLost) return MAX_LOOK_MS
      // only the store can have failed, and its own check reports that
      if (!state) return OWN_LOOK_MS
      failures += 1
      const problem = describeFailure(error)
      if (failures === 1) log.warn('the users in CouchDB cannot be followed', { reason: problem, error })
      tell(problem)
      return Math.min(100 * 2 ** Math.min(failures, 10), MAX_BACK_OFF_MS)
    }
  }
  return {
    attempt,
    async end() {
      await pages.end()
      await releaseMirror(store.statements, holder).catch(() => {})
    },
  }
}

/** Aborts the work, which may wait for CouchDB, when this process has lost the lease: a command wants something else. */
async function whileLeased<T>(
  signal: AbortSignal,
  holder: string,
  statements: Engine,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const stopWatching = keepRepeating(async () => {
    const mirror = await readMirror(statements).catch(() => undefined)
    if (mirror && mirror.holder !== holder) lost.abort()
    return MAX_LOOK_MS
  })
  try {
    return await work(AbortSignal.any([signal, lost.signal]))
  } catch (error) {
    throw lost.signal.aborted ? new LeaseLost('a command has changed what is followed', { cause: error }) : error
  } finally {
    await stopWatching()
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
  readonly holder: string
  readonly state: MirrorState
  readonly pages: Pages
  readonly signal: AbortSignal
}

/** Returns `undefined` if the users are the store's own by now. */
async function followPage(deps: FollowDeps, turn: Turn): Promise<MirrorState | undefined> {
  const { state, pages, signal } = turn
  if (state.progress.release === 'now') return releaseCopy(deps.kernel, deps.prefix)
  if (state.progress.phase === 'adopting') return adoptPage(deps, turn)
  const read = await pages.read(state.progress, signal)
  // without one, the database was replaced meanwhile, or another process follows
  return read ? storePage(deps, turn, read) : state
}

interface ReadTurn {
  readonly page: ReadPage
  /** How far the copy was before the page. */
  readonly progress: CopyProgress
  readonly entry: string
  readonly startMs: number
}

type Pages = ReturnType<typeof createPages>

/** Reads one page after another. While one is stored, the next one is read. */
function createPages(deps: FollowDeps) {
  const reader = createPageReader(deps)
  let ahead: { readonly known: CopyProgress; readonly reading: Promise<ReadTurn | undefined> } | undefined
  const readNext = async (known: CopyProgress, signal: AbortSignal): Promise<ReadTurn | undefined> => {
    const checkpoint = await readCheckpoint(deps, known)
    const progress = covers(checkpoint, known) ? known : restart(deps, known)
    const startMs = deps.kernel.clock.nowMs()
    const page = await reader.read(progress, signal)
    const isEntryDue = page.rows.length > 0 || progress.checkpoint === ''
    const entry = isEntryDue ? await addEntry(deps, checkpoint, progress.checkpoint) : progress.checkpoint
    return entry === undefined ? undefined : { page, progress, entry, startMs }
  }
  return {
    async read(known: CopyProgress, signal: AbortSignal): Promise<ReadTurn | undefined> {
      const begun = ahead
      ahead = undefined
      // also if the page before it was not stored: only one at a time may write the checkpoint
      const found = await begun?.reading
      return found && isDeepStrictEqual(begun?.known, known) ? found : readNext(known, signal)
    },
    /** `known`: how far the copy will be. What goes wrong is found when the page is read again. */
    readAhead(known: CopyProgress, signal: AbortSignal): void {
      ahead = { known, reading: readNext(known, signal).catch(() => undefined) }
    },
    async end(): Promise<void> {
      await ahead?.reading
    },
  }
}

async function storePage(deps: FollowDeps, turn: Turn, read: ReadTurn): Promise<MirrorState | undefined> {
  const { holder, state, pages, signal } = turn
  const { page, progress, entry, startMs } = read
  const isComparing = progress.phase === 'comparing'
  const isFresh = page.isLast && !isComparing
  const next: CopyProgress = {
    ...progress,
    phase: isFresh ? 'following' : progress.phase,
    since: page.lastSeq,
    checkpoint: entry,
    done: progress.done + page.rows.length,
    pending: page.pending,
  }
  if (!page.isLast) pages.readAhead(next, signal)
  const common = { holder, nowMs: deps.kernel.clock.nowMs() }
  const before = { ...common, freshMs: state.freshMs, progress }
  const advance = { ...common, freshMs: isFresh ? startMs : state.freshMs, progress: next }
  const documents = page.rows.flatMap((row) => readChange(row, deps.prefix) ?? [])
  if (!(await applyDocuments(deps, documents, advance, before))) return { ...state, progress }
  if (isFresh && page.rows.length === 0 && next.release) return releaseCopy(deps.kernel, deps.prefix)
  return isComparing && page.isLast ? sweep(deps, advance, startMs) : advance
}

function restart({ kernel: { log } }: FollowDeps, progress: CopyProgress): CopyProgress {
  log.warn('the users database in CouchDB is not the one that was copied: all users are compared')
  return toComparing(progress)
}

/** After all changes were read again: removes users that the database no longer has. */
async function sweep(deps: FollowDeps, advance: Advance, startMs: number): Promise<MirrorState> {
  const { store, clock } = deps.kernel
  const { database, prefix } = deps
  const listUsers = async (range: UserRange) => (await store.listUsers(range)).map(({ record }) => record)
  for await (const users of listUserPages({ listUsers })) {
    const revisions = await database.listRevisions(users.map(({ name }) => `${prefix}${name}`))
    const others = users.filter(({ name, document }) => revisions.get(`${prefix}${name}`) !== document.revision)
    const documents = others.map(({ name }) => toUnread(`${prefix}${name}`, prefix))
    const now = { ...advance, nowMs: clock.nowMs() }
    while (!(await applyDocuments(deps, documents, now, now)));
  }
  const done: Advance = {
    ...advance,
    nowMs: clock.nowMs(),
    freshMs: startMs,
    progress: { ...advance.progress, phase: 'following' },
  }
  await store.writeUsersWith([], () => advanceMirror(done))
  return done
}

/**
 * Looks again at documents that are no users, a part of them each time: the reason may have been at Cardea and have ended,
 * as with the name of an administrator, or in the options of CouchDB.
 */
function createReview(deps: FollowDeps): (state: MirrorState) => Promise<void> {
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

interface ReadPage extends ChangesPage {
  /** No change follows. */
  readonly isLast: boolean
}

/** Reads smaller pages while documents are large. */
function createPageReader({ database, maxStalenessMs }: FollowDeps) {
  let limit = PAGE_SIZE
  return {
    async read({ since, phase, release }: CopyProgress, signal: AbortSignal): Promise<ReadPage> {
      for (;;) {
        const waitMs = phase === 'following' && !release ? toPauses(maxStalenessMs()).waitMs : 0
        const query = { since, limit, waitMs, signal }
        const page = (await database.readChanges(query)) ?? (limit === 1 ? await readBare(query) : undefined)
        if (page) {
          const isLast = page.pending === 0 && page.rows.length < limit
          limit = Math.min(phase === 'filling' ? FIRST_PAGE_SIZE : PAGE_SIZE, limit * 2)
          return { ...page, isLast }
        }
        limit = Math.ceil(limit / 2)
      }
    },
  }
  /** A document that is too large for Cardea is left out. */
  async function readBare(query: Parameters<typeof database.readChanges>[0]): Promise<ChangesPage> {
    const page = await database.readChanges({ ...query, isBare: true })
    if (page) return page
    throw new Refusal('upstream_failed', { detail: 'CouchDB: the changes of users are not JSON' })
  }
}

/**
 * A document in the database that is not replicated. Its newest entry is written before the changes that it covers are
 * stored, so a database that lacks the entry of the store was restored from a backup, or is another one.
 */
interface Checkpoint {
  readonly id: string
  readonly revision: string | undefined
  readonly history: readonly string[]
}

async function readCheckpoint({ database }: FollowDeps, { copy }: CopyProgress): Promise<Checkpoint> {
  const id = `cardea-${copy}`
  const { _rev: revision, history } = (await database.readLocal(id)) ?? {}
  return {
    id,
    revision: typeof revision === 'string' ? revision : undefined,
    history: Array.isArray(history) ? history.filter((entry) => typeof entry === 'string') : [],
  }
}

/** Whether the database has had all changes that are in the store. */
const covers = ({ history }: Checkpoint, { checkpoint }: CopyProgress): boolean =>
  checkpoint === '' || history.includes(checkpoint)

/**
 * The new entry; `undefined`: the document is no longer the one that was read. `known`: the entry of the store, which stays
 * in the history, however often the store could not be written after it.
 */
async function addEntry(
  { database }: FollowDeps,
  { id, revision, history }: Checkpoint,
  known: string,
): Promise<string | undefined> {
  const entry = randomUUID()
  const entries = [entry, known, ...history.filter((each) => each !== known)].slice(0, MAX_HISTORY)
  const isWritten = await database.writeLocal(id, { history: entries, ...(revision && { _rev: revision }) })
  return isWritten ? entry : undefined
}
