// When accounts last signed in, and when access tokens were last used, for administrators.
import type { Clock } from '../base/clock.ts'
import type { SignInLog, TokenUses } from './account-directory.ts'
import { NoteQueue } from './note-queue.ts'
import type { LastSignIn, SignInStore, TokenUse, TokenUseStore } from './store-port/sign-ins.ts'

interface Closable {
  close(): Promise<void>
}

export function createSignInNotes(store: SignInStore, clock: Clock): SignInLog & Closable {
  const write = (signIns: readonly LastSignIn[]) => store.putSignIns(signIns)
  // a deleted user takes its last sign-in along, so nothing else is purged
  const queue = new NoteQueue(write, async () => {}, clock)
  return {
    noteSignIn: (name, peer) => queue.note(name, (minute) => ({ name, at: minute, peer })),
    async findLastSignIns(names) {
      // a list of users is shown even while the store cannot be written
      await queue.flush().catch(() => {})
      return new Map((await store.listSignIns(names)).map((signIn) => [signIn.name, signIn]))
    },
    close: () => queue.close(),
  }
}

/** Of a token that was removed, the last use is kept no longer than this. */
const KEPT_SECONDS = 400 * 24 * 60 * 60

export function createTokenUses(store: TokenUseStore, clock: Clock): TokenUses & Closable {
  const write = (uses: readonly TokenUse[]) => store.putTokenUses(uses)
  const queue = new NoteQueue(write, (nowSeconds) => store.purgeTokenUses(nowSeconds - KEPT_SECONDS), clock)
  return {
    noteTokenUse: (name, mark) => queue.note(mark, (minute) => ({ name, mark, usedAt: minute })),
    async listTokenUses(name) {
      await queue.flush()
      return new Map((await store.listTokenUses(name)).map(({ mark, usedAt }) => [mark, usedAt]))
    },
    close: () => queue.close(),
  }
}
