import type { Clock } from '../base/clock.ts'
import type { TokenUses } from './account-directory.ts'
import { createNoteQueue } from './note-queue.ts'
import type { TokenUse, TokenUseStore } from './store-port/sign-ins.ts'

/** Of a token that was removed, the last use is kept no longer than this. */
const KEPT_SECONDS = 400 * 24 * 60 * 60

interface TokenUseQueue extends TokenUses {
  close(): Promise<void>
}

export function createTokenUses(store: TokenUseStore, clock: Clock): TokenUseQueue {
  const queue = createNoteQueue<TokenUse>({
    write: (uses) => store.putTokenUses(uses),
    purge: (nowSeconds) => store.purgeTokenUses(nowSeconds - KEPT_SECONDS),
    clock,
  })
  return {
    noteTokenUse: (name, mark) => queue.note(mark, (minute) => ({ name, mark, usedAt: minute })),
    async listTokenUses(name) {
      await queue.flush()
      return new Map((await store.listTokenUses(name)).map(({ mark, usedAt }) => [mark, usedAt]))
    },
    close: () => queue.close(),
  }
}
