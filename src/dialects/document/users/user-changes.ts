import type { ChangeFeed, Position } from '../../../directory/store-port/changes.ts'

/** A user that was written or deleted, and where that change is in the history of the store. */
export interface FeedRow {
  readonly position: Position
  readonly name: string
}

export interface UserChangePage {
  readonly changes: readonly FeedRow[]
  /** Where the next page begins. */
  readonly position: Position
  /** Whether there were no more changes at that time. */
  readonly isEnd: boolean
  /** Whether it begins with the first change, because the history of the store does not have the given position. */
  readonly isRewound: boolean
}

export type UserChanges = ReturnType<typeof createUserChanges>

/** The changes of the store that are about users, in order. Only the latest change of each user is listed. */
export const createUserChanges = (feed: ChangeFeed) => ({
  head: () => feed.head(),
  /** The listener is called when there may be a change. Calls can get lost. Returns a function that removes it. */
  onWake: (listener: () => void) => feed.onWake(listener),
  since: (position: Position, limit: number) => readPage(feed, position, limit),
})

async function readPage(feed: ChangeFeed, from: Position, limit: number): Promise<UserChangePage> {
  const { isKnown, changes, head } = await feed.changesSince(from, limit)
  if (!isKnown) return { ...(await readPage(feed, firstIn(head), limit)), isRewound: true }
  const isEnd = changes.length < limit
  const toPosition = (sequence: number): Position => ({ sequence, mark: head.mark })
  return {
    changes: changes
      .filter(({ kind }) => kind === 'user')
      .map(({ sequence, key }): FeedRow => ({ position: toPosition(sequence), name: key })),
    // Changes that are not about users move the position too. A short page is the last one. Later sequence numbers belong to changes that were replaced or purged.
    position: isEnd ? head : toPosition(changes.at(-1)?.sequence ?? from.sequence),
    isEnd,
    isRewound: false,
  }
}

/** Before the first change of the history that this position is in. */
export const firstIn = ({ mark }: Position): Position => ({ sequence: 0, mark })

/** A position as clients see it. */
export const toSequenceText = ({ sequence, mark }: Position): string => `${sequence}-${mark}`

export const renderSequence = (position: Position): string => JSON.stringify(toSequenceText(position))

const SEQUENCE = /^"?(\d{1,15})(?:-([0-9a-fA-F]{0,64}))?"?$/

/**
 * The position of a sequence; `undefined` if the text is not a sequence. A number alone counts for the
 * current history; if that has not reached it, it is read as 0.
 */
export function readSequence(text: string, head: Position): Position | undefined {
  if (text === 'now' || text === '"now"') return head
  const [, digits, mark] = SEQUENCE.exec(text) ?? []
  if (digits === undefined) return undefined
  const sequence = Number(digits)
  if (mark !== undefined) return { sequence, mark }
  return sequence > head.sequence ? firstIn(head) : { sequence, mark: head.mark }
}
