import type { ChangeFeed } from '../../../directory/store-port/changes.ts'

/** A user that was written or deleted, and the sequence number of that change. */
export interface FeedRow {
  readonly sequence: number
  readonly name: string
}

export type UserChanges = ReturnType<typeof createUserChanges>

/** The changes of the store that are about users, in order. Only the latest change of each user is listed. */
export const createUserChanges = (feed: ChangeFeed) => ({
  sequence: () => feed.sequence(),
  /** The listener is called when there may be a change. Calls can get lost. Returns a function that removes it. */
  onWake: (listener: () => void) => feed.onWake(listener),
  /** One page. `position`: where the next one begins. `isEnd`: there were no more changes at that time. */
  async since(sequence: number, limit: number) {
    const latest = await feed.sequence()
    const page = await feed.changesSince(sequence, limit)
    const reached = page.at(-1)?.sequence ?? sequence
    const isEnd = page.length < limit
    return {
      changes: page
        .filter(({ kind }) => kind === 'user')
        .map((change): FeedRow => ({ sequence: change.sequence, name: change.key })),
      // Changes that are not about users move the position too. A short page is the last one. Later sequence numbers belong to changes that were replaced or purged.
      position: isEnd ? Math.max(reached, latest) : reached,
      isEnd,
    }
  },
})

/** A sequence as clients see it: the number, and the uuid of the server that it counts for. */
export const toSequenceText = (sequence: number, uuid: string): string => `${sequence}-${uuid}`

export const renderSequence = (sequence: number, uuid: string): string => JSON.stringify(toSequenceText(sequence, uuid))

const SEQUENCE = /^"?(\d{1,15})(?:-([0-9a-fA-F]{0,64}))?"?$/

/**
 * The number in a sequence; `undefined` if the text is not a sequence. A sequence of another server, or from before a
 * backup was restored, is read as 0: that client starts from the beginning.
 */
export function readSequence(text: string, latest: number, uuid: string): number | undefined {
  if (text === 'now' || text === '"now"') return latest
  const [, digits, sentUuid] = SEQUENCE.exec(text) ?? []
  if (digits === undefined) return undefined
  const isForeign = sentUuid !== undefined && sentUuid !== uuid
  return isForeign || Number(digits) > latest ? 0 : Number(digits)
}
