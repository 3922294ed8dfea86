import { setImmediate as giveWay } from 'node:timers/promises'
import type { Identity } from '../../../directory/identity.ts'
import type { ChangesQuery } from './changes-query.ts'
import type { UserChange, UsersDeps } from './deps.ts'
import { findLeaf, type Leaf } from './leaf.ts'

export interface ChangeRow {
  readonly sequence: number
  readonly leaf: Leaf
}

export interface Batch {
  readonly rows: readonly ChangeRow[]
  /** Whether there is nothing more now, or nothing more is wanted. */
  readonly isEnd: boolean
}

/** A place in the changes that moves on. */
export interface Cursor {
  next(): Promise<Batch>
  /** All that was wanted up to here has been given. */
  position(): number
  /** Whether as much was given as was asked for. */
  isFull(): boolean
  /** How many changes follow, at most: what is not about users counts too. */
  countPending(): Promise<number>
}

const PAGE = 100

export function createCursor(deps: UsersDeps, query: ChangesQuery, who: Identity): Cursor {
  return query.isDescending ? createBackward(deps, query, who) : createForward(deps, query, who)
}

function createForward(deps: UsersDeps, query: ChangesQuery, who: Identity): Cursor {
  let position = query.since
  let left = query.limit
  return {
    position: () => position,
    isFull: () => left <= 0,
    countPending: async () => Math.max(0, (await deps.changes.sequence()) - position),
    async next() {
      if (left <= 0) return { rows: [], isEnd: true }
      // a store within this process answers at once: others must have their turn
      await giveWay()
      const page = await deps.changes.since(position, PAGE)
      const found = await loadRows(deps, query, who, page.changes)
      const rows = found.slice(0, left)
      left -= rows.length
      position = left <= 0 ? (rows.at(-1)?.sequence ?? position) : page.position
      return { rows, isEnd: page.isEnd || left <= 0 }
    },
  }
}

/** The latest first. There is only a way forward through the changes, so all of them are walked once. */
function createBackward(deps: UsersDeps, query: ChangesQuery, who: Identity): Cursor {
  let waiting: UserChange[] | undefined
  let left = query.limit
  let position = query.since
  return {
    position: () => position,
    isFull: () => left <= 0,
    countPending: async () => waiting?.length ?? 0,
    async next() {
      if (left <= 0) return { rows: [], isEnd: true }
      waiting ??= await collect(deps, query)
      const page = waiting.splice(-PAGE).reverse()
      const rows = (await loadRows(deps, query, who, page)).slice(0, left)
      left -= rows.length
      position = rows.at(-1)?.sequence ?? position
      return { rows, isEnd: waiting.length === 0 || left <= 0 }
    },
  }
}

async function collect({ changes, prefix }: UsersDeps, { filter }: ChangesQuery): Promise<UserChange[]> {
  const all: UserChange[] = []
  for (let at = 0, isEnd = false; !isEnd; ) {
    const page = await changes.since(at, 10 * PAGE)
    for (const change of page.changes) if (filter.wantsId(`${prefix}${change.name}`)) all.push(change)
    ;({ position: at, isEnd } = page)
    await giveWay()
  }
  return all
}

async function loadRows(
  deps: UsersDeps,
  { filter }: ChangesQuery,
  who: Identity,
  changes: readonly UserChange[],
): Promise<readonly ChangeRow[]> {
  const ids = changes.map(({ sequence, name }) => ({ sequence, id: `${deps.prefix}${name}` }))
  const rows = await Promise.all(
    ids
      .filter(({ id }) => filter.wantsId(id))
      .map(async ({ sequence, id }) => ({ sequence, leaf: await findLeaf(deps, id, who) })),
  )
  const hasLeaf = (row: { sequence: number; leaf: Leaf | undefined }): row is ChangeRow => row.leaf !== undefined
  return rows.filter(hasLeaf).filter(({ leaf }) => filter.wants(leaf))
}
