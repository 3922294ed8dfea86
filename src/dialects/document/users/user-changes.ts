import type { ChangeFeed } from '../../../directory/store-port.ts'
import type { UserChanges } from './deps.ts'

/** The changes of the store that concern users. */
export function createUserChanges(feed: ChangeFeed): UserChanges {
  return {
    sequence: () => feed.sequence(),
    onWake: (listener) => feed.onWake(listener),
    async since(sequence, limit) {
      const latest = await feed.sequence()
      const page = await feed.changesSince(sequence, limit)
      const reached = page.at(-1)?.sequence ?? sequence
      const isEnd = page.length < limit
      return {
        changes: page
          .filter(({ kind }) => kind === 'user')
          .map((change) => ({ sequence: change.sequence, name: change.key })),
        // A short page is the last one. Later sequence numbers belong to changes that were replaced or purged.
        position: isEnd ? Math.max(reached, latest) : reached,
        isEnd,
      }
    },
  }
}
