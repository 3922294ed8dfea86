import { waitAmongFeeds, yieldToOthers } from '../../../base/pace.ts'
import type { Identity } from '../../../directory/identity.ts'
import type { Position } from '../../../directory/store-port/changes.ts'
import type { UsersDeps } from '../deps.ts'
import type { ChangesQuery } from './changes-query.ts'
import { findVisible, type VisibleDocument } from './document.ts'
import { type FeedRow, firstIn, type UserChangePage } from './user-changes.ts'

export interface ChangeRow {
  readonly position: Position
  readonly document: VisibleDocument
}

export interface Batch {
  readonly rows: readonly ChangeRow[]
  /** Whether there are no more changes now, or the limit is reached. */
  readonly isEnd: boolean
}

const PAGE = 100

export interface CursorOptions {
  readonly deps: UsersDeps
  readonly query: ChangesQuery
  readonly reader: Identity
}

export type Cursor = ReturnType<typeof createCursor>

/** Reads the changes batch by batch. */
export function createCursor(options: CursorOptions) {
  const { isDescending, since, limit } = options.query
  const { readPage, countPending } = isDescending ? createBackwardReader(options) : createForwardReader(options)
  let position = since
  let left = limit
  return {
    /** Up to which all changes were read. If the history of the store has changed, it begins again with the first one. */
    position: () => position,
    /** Whether the limit is reached. */
    isFull: () => left <= 0,
    /** An upper bound: it also counts changes that are not about users. */
    countPending: (): Promise<number> => countPending(position),
    async next(): Promise<Batch> {
      if (left <= 0) return { rows: [], isEnd: true }
      const page = await readPage(position)
      const rows = (await loadRows(page.changes, options)).slice(0, left)
      left -= rows.length
      const last = rows.at(-1)?.position ?? position
      position = left <= 0 ? last : (page.position ?? last)
      return { rows, isEnd: page.isEnd || left <= 0 }
    },
  }
}

/** `position`: left out where the last row shows it. */
type CursorPage = Pick<UserChangePage, 'changes' | 'isEnd'> & Partial<Pick<UserChangePage, 'position'>>

const createForwardReader = ({ deps: { changes } }: CursorOptions) => ({
  async readPage(position: Position): Promise<CursorPage> {
    // SQLite answers in the same tick, so other requests would wait
    await waitAmongFeeds()
    return changes.since(position, PAGE)
  },
  countPending: async ({ sequence }: Position) => Math.max(0, (await changes.head()).sequence - sequence),
})

/** Latest first. The store lists changes only in ascending order, so all of them are read first. */
function createBackwardReader(options: CursorOptions) {
  let remaining: FeedRow[] | undefined
  return {
    async readPage(): Promise<CursorPage> {
      remaining ??= await loadAllChanges(options)
      const changes = remaining.splice(-PAGE).reverse()
      return { changes, isEnd: remaining.length === 0 }
    },
    countPending: async () => remaining?.length ?? 0,
  }
}

async function loadAllChanges({ deps: { changes, prefix }, query: { filter } }: CursorOptions): Promise<FeedRow[]> {
  const all: FeedRow[] = []
  let page = await changes.since(firstIn(await changes.head()), 10 * PAGE)
  for (;;) {
    if (page.isRewound) all.length = 0
    all.push(...page.changes.filter(({ name }) => filter.matchesId(`${prefix}${name}`)))
    await yieldToOthers()
    if (page.isEnd) return all
    page = await changes.since(page.position, 10 * PAGE)
  }
}

async function loadRows(changes: readonly FeedRow[], options: CursorOptions): Promise<readonly ChangeRow[]> {
  const { deps, query, reader } = options
  const wanted = changes
    .map(({ position, name }) => ({ position, id: `${deps.prefix}${name}` }))
    .filter(({ id }) => query.filter.matchesId(id))
  const found = await Promise.all(
    wanted.map(async ({ position, id }) => {
      const document = await findVisible(deps, id, reader)
      return document ? [{ position, document }] : []
    }),
  )
  return found.flat().filter(({ document }) => query.filter.matches(document))
}
