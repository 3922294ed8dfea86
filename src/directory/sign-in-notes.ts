import type { Clock } from '../base/clock.ts'
import type { SignInLog } from './account-directory.ts'
import { createNoteQueue } from './note-queue.ts'
import type { LastSignIn, SignInStore } from './store-port/sign-ins.ts'

interface SignInNotes extends SignInLog {
  close(): Promise<void>
}

export function createSignInNotes(store: SignInStore, clock: Clock): SignInNotes {
  // a deleted user takes its last sign-in along, so nothing else is purged
  const queue = createNoteQueue<LastSignIn>({
    write: (signIns) => store.putSignIns(signIns),
    purge: async () => {},
    clock,
  })
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
