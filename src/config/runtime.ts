/** One setting made at run time. `text` is `undefined` for an administrator who was deleted and stays so. */
export interface RuntimeEntry {
  readonly section: string
  readonly key: string
  readonly text: string | undefined
}

/** The layer between files and environment, which every node has and a restart does not end. */
export interface RuntimeLayer {
  list(): Promise<readonly RuntimeEntry[]>
  set(section: string, key: string, text: string): Promise<void>
  /** Back to the layers below; of an administrator a mark stays. */
  unset(section: string, key: string): Promise<void>
}

export interface MemoryLayer extends RuntimeLayer {
  /** As if nothing had been said of it here: no mark stays either. */
  forget(section: string, key: string): void
}

/** A layer that ends with the process. */
export function createMemoryLayer(): MemoryLayer {
  const entries = new Map<string, RuntimeEntry>()
  const keyOf = (section: string, key: string) => JSON.stringify([section, key])
  return {
    list: async () => [...entries.values()],
    set: async (section, key, text) => {
      entries.set(keyOf(section, key), { section, key, text })
    },
    unset: async (section, key) => {
      if (section === 'admins') entries.set(keyOf(section, key), { section, key, text: undefined })
      else entries.delete(keyOf(section, key))
    },
    forget: (section, key) => void entries.delete(keyOf(section, key)),
  }
}
