// The same directory and settings without any door: what commands work on while no server runs.
import { Refusal } from '../base/errors.ts'
import { toControlWords } from '../dialects/control/errors.ts'
import type { Call } from '../dialects/control/operation.ts'
import { OPERATIONS, type OperationName } from '../dialects/control/operations.ts'
import { createControlNeeds } from './control.ts'
import { openDirectory } from './directory.ts'
import { createState, type StateOptions } from './state.ts'

/** What became of an operation, in the words a server would have used. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly error: string; readonly reason: string }

export interface Offline {
  run(name: OperationName, call: Call): Promise<Outcome>
  close(): Promise<void>
}

/** Holds the store's lock until it is closed. Throws `StoreBusy` where somebody else works on it. */
export async function openOffline(options: Pick<StateOptions, 'load' | 'log'>): Promise<Offline> {
  const state = await createState({ ...options, mayLackAdministrator: true, lockWaitMs: 0 })
  const directory = await openDirectory(state, options.log).catch(async (error) => {
    await state.store.close()
    throw error
  })
  const needs = createControlNeeds(state, directory)
  return {
    async run(name, call) {
      try {
        return { kind: 'done', value: await OPERATIONS[name].run(needs, call) }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return { kind: 'refused', ...toControlWords(error) }
      }
    },
    async close() {
      await directory.close()
      await state.store.close()
    },
  }
}
