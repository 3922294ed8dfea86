import type { RuntimeEntry } from '../config/layers.ts'

/** The layer between files and environment, which every node has and a restart does not end. */
export interface RuntimeLayer {
  list(): Promise<readonly RuntimeEntry[]>
  set(section: string, key: string, text: string): Promise<void>
  /** Back to the layers below; of an administrator a mark stays. */
  unset(section: string, key: string): Promise<void>
  /** As if nothing had been said of it here: no mark stays either. */
  forget(section: string, key: string): Promise<void>
}

/** A layer that ends with the process. What is unset there leaves a mark, which hides what is stored beneath. */
export function createMemoryLayer(): RuntimeLayer {
  const entries = new Map<string, RuntimeEntry>()
  const keyOf = (section: string, key: string) => JSON.stringify([section, key])
  return {
    list: async () => [...entries.values()],
    set: async (section, key, text) => {
      entries.set(keyOf(section, key), { section, key, text })
    },
    unset: async (section, key) => {
      entries.set(keyOf(section, key), { section, key, text: undefined })
    },
    forget: async (section, key) => {
      entries.delete(keyOf(section, key))
    },
  }
}
