import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Identity } from '../../../directory/identity.ts'
import type { UsersDeps } from '../deps.ts'
import type { ChangesQuery } from './changes-query.ts'
import { findVisible, type VisibleDocument } from './document.ts'
import type { FeedRow } from './user-changes.ts'

export interface ChangeRow {
  readonly sequence: number
  readonly document: VisibleDocument
}

export interface Batch {
  readonly rows: readonly ChangeRow[]
  /** Whether there are no more changes now, or the limit is reached. */
  readonly isEnd: boolean
}

/** Reads the changes batch by batch. */
export interface Cursor {
  next(): Promise<Batch>
  /** The sequence up to which all changes were read. */
  position(): number
  /** Whether the limit is reached. */
  isFull(): boolean
  /** An upper bound: it also counts changes that are not about users. */
  countPending(): Promise<number>
}

const PAGE = 100

export interface CursorOptions {
  readonly deps: UsersDeps
  readonly query: ChangesQuery
  readonly reader: Identity
}

export const createCursor = (options: CursorOptions): Cursor =>
  options.query.isDescending ? createBackwardCursor(options) : createForwardCursor(options)

function createForwardCursor(options: CursorOptions): Cursor {
  const { changes } = options.deps
  let position = options.query.since
  let left = options.query.limit
  return {
    position: () => position,
    isFull: () => left <= 0,
    countPending: async () => Math.max(0, (await changes.sequence()) - position),
    async next() {
      if (left <= 0) return { rows: [], isEnd: true }
      // SQLite answers in the same tick, so other requests would wait
      await yieldToOthers()
      const page = await changes.since(position, PAGE)
      const rows = (await loadRows(page.changes, options)).slice(0, left)
      left -= rows.length
      position = left <= 0 ? (rows.at(-1)?.sequence ?? position) : page.position
      return { rows, isEnd: page.isEnd || left <= 0 }
    },
  }
}

/** Latest first. The store lists changes only in ascending order, so all of them are read first. */
function createBackwardCursor(options: CursorOptions): Cursor {
  let remaining: FeedRow[] | undefined
  let left = options.query.limit
  let position = options.query.since
  return {
    position: () => position,
    isFull: () => left <= 0,
    countPending: async () => remaining?.length ?? 0,
    async next() {
      if (left <= 0) return { rows: [], isEnd: true }
      remaining ??= await loadAllChanges(options)
      const page = remaining.splice(-PAGE).reverse()
      const rows = (await loadRows(page, options)).slice(0, left)
      left -= rows.length
      position = rows.at(-1)?.sequence ?? position
      return { rows, isEnd: remaining.length === 0 || left <= 0 }
    },
  }
}

async function loadAllChanges({ deps: { changes, prefix }, query: { filter } }: CursorOptions): Promise<FeedRow[]> {
  const all: FeedRow[] = []
  let page = await changes.since(0, 10 * PAGE)
  for (;;) {
    all.push(...page.changes.filter(({ name }) => filter.matchesId(`${prefix}${name}`)))
    await yieldToOthers()
    if (page.isEnd) return all
    page = await changes.since(page.position, 10 * PAGE)
  }
}

async function loadRows(changes: readonly FeedRow[], options: CursorOptions): Promise<readonly ChangeRow[]> {
  const { deps, query, reader } = options
  const wanted = changes
    .map(({ sequence, name }) => ({ sequence, id: `${deps.prefix}${name}` }))
    .filter(({ id }) => query.filter.matchesId(id))
  const found = await Promise.all(
    wanted.map(async ({ sequence, id }) => {
      const document = await findVisible(deps, id, reader)
      return document ? [{ sequence, document }] : []
    }),
  )
  return found.flat().filter(({ document }) => query.filter.matches(document))
}
