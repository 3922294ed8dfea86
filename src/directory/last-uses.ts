// When accounts last signed in, and when access tokens were last used, for administrators.
import type { Clock } from '../base/clock.ts'
import { NoteQueue } from './note-queue.ts'
import type { LastSignIn, SignInStore, TokenUse, TokenUseStore } from './store-port/sign-ins.ts'

export function createSignInNotes(store: SignInStore, clock: Clock) {
  const write = (signIns: readonly LastSignIn[]) => store.putSignIns(signIns)
  // a deleted user takes its last sign-in along, so nothing else is purged
  const queue = new NoteQueue(write, async () => {}, clock)
  return {
    /** Never waits: written in batches, for each name at most once a minute. */
    noteSignIn: (name: string, peer: string) => queue.note(name, (minute) => ({ name, at: minute, peer })),
    /** By name. Names without a sign-in are missing. */
    async findLastSignIns(names: readonly string[]): Promise<ReadonlyMap<string, LastSignIn>> {
      // a list of users is shown even while the store cannot be written
      await queue.flush().catch(() => {})
      return new Map((await store.listSignIns(names)).map((signIn) => [signIn.name, signIn]))
    },
    close: () => queue.close(),
  }
}

/** Of a token that was removed, the last use is kept no longer than this. */
const KEPT_SECONDS = 400 * 24 * 60 * 60

export function createTokenUses(store: TokenUseStore, clock: Clock) {
  const write = (uses: readonly TokenUse[]) => store.putTokenUses(uses)
  const queue = new NoteQueue(write, (nowSeconds) => store.purgeTokenUses(nowSeconds - KEPT_SECONDS), clock)
  return {
    /** Never waits: uses are written in batches, those of one token once a minute. `mark` is that of the token. */
    noteTokenUse: (name: string, mark: string) => queue.note(mark, (minute) => ({ name, mark, usedAt: minute })),
    /** Seconds since the epoch, exact to the minute, by the mark of the token. */
    async listTokenUses(name: string): Promise<ReadonlyMap<string, number>> {
      await queue.flush()
      return new Map((await store.listTokenUses(name)).map(({ mark, usedAt }) => [mark, usedAt]))
    },
    close: () => queue.close(),
  }
}
