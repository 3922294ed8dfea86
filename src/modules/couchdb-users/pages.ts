// Reads the feed of the users database, page by page. While one is stored, the next one is read.
import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../../base/errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { addEntry, covers, readFeedCheckpoint } from './checkpoint.ts'
import type { ChangesPage, FeedQuery, UsersDatabase } from './database.ts'
import { type CopyProgress, toComparing } from './state.ts'

const MAX_WAIT_MS = 2000
const MAX_LOOK_MS = 500
/** A page is stored in one transaction, for which other writes wait. */
const PAGE_SIZE = 500
/**
 * No other write waits for the first copy. Fewer transactions take 3.3 s in place of 4.3 s for 20 000 users at the feed
 * server of `npm run bench -- users-in-couchdb`.
 */
const FIRST_PAGE_SIZE = 1000

export interface PageDeps {
  readonly kernel: Pick<Kernel, 'clock' | 'log'>
  readonly database: UsersDatabase
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

export interface ReadPage {
  readonly page: ChangesPage & {
    /** No change follows. */
    readonly isLast: boolean
  }
  /** How far the copy was before the page. */
  readonly progress: CopyProgress
  /** The entry of the checkpoint that covers it. */
  readonly entry: string
  /** When the reading began. */
  readonly startMs: number
}

export type Pages = ReturnType<typeof createPages>

export function createPages(deps: PageDeps) {
  const { database, kernel } = deps
  const readChanges = createReader(deps)
  let ahead: { readonly known: CopyProgress; readonly reading: Promise<ReadPage | undefined> } | undefined
  const readNext = async (known: CopyProgress, signal: AbortSignal): Promise<ReadPage | undefined> => {
    const checkpoint = await readFeedCheckpoint(database, known)
    const progress = covers(checkpoint, known) ? known : toComparing(known)
    if (progress !== known)
      kernel.log.warn('the users database in CouchDB is not the one that was copied: all users are compared')
    const startMs = kernel.clock.nowMs()
    const page = await readChanges(progress, signal)
    const isEntryDue = page.rows.length > 0 || progress.checkpoint === ''
    const entry = isEntryDue ? await addEntry(database, checkpoint, progress.checkpoint) : progress.checkpoint
    return entry === undefined ? undefined : { page, progress, entry, startMs }
  }
  return {
    /** `undefined`: the database was replaced meanwhile, or another process follows. */
    async read(known: CopyProgress, signal: AbortSignal): Promise<ReadPage | undefined> {
      const begun = ahead
      ahead = undefined
      // also if the page before it was not stored: only one at a time may write the checkpoint
      const found = await begun?.reading
      return found && isDeepStrictEqual(begun?.known, known) ? found : readNext(known, signal)
    },
    /**
     * `known`: how far the copy will be. What goes wrong is found when the page is read again. The first copy takes 8.6 s in
     * place of 13.9 s where a page of the feed takes as long as to store it (CouchDB on the same two cores).
     */
    readAhead(known: CopyProgress, signal: AbortSignal): void {
      ahead = { known, reading: readNext(known, signal).catch(() => undefined) }
    },
    async end(): Promise<void> {
      await ahead?.reading
    },
  }
}

/** Reads smaller pages while documents are large. */
function createReader({ database, maxStalenessMs }: PageDeps) {
  let limit = PAGE_SIZE
  return async ({ since, phase, release }: CopyProgress, signal: AbortSignal): Promise<ReadPage['page']> => {
    for (;;) {
      const waitMs = phase === 'following' && !release ? toPauses(maxStalenessMs()).waitMs : 0
      const query = { since, limit, waitMs, signal }
      const page = (await database.readChanges(query)) ?? (limit === 1 ? await readBare(database, query) : undefined)
      if (page) {
        const isLast = page.pending === 0 && page.rows.length < limit
        limit = Math.min(phase === 'filling' ? FIRST_PAGE_SIZE : PAGE_SIZE, limit * 2)
        return { ...page, isLast }
      }
      limit = Math.ceil(limit / 2)
    }
  }
}

/** A document that is too large for Cardea is left out. */
async function readBare(database: UsersDatabase, query: FeedQuery): Promise<ChangesPage> {
  const page = await database.readChanges({ ...query, isBare: true })
  if (page) return page
  throw new Refusal('upstream_failed', { detail: 'CouchDB: a line of the changes of users is too large' })
}
