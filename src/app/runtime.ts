import type { Clock } from '../base/clock.ts'
import { nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createMemoryLayer, type RuntimeEntry, type RuntimeLayer } from '../config/runtime.ts'
import type { SettingStore, WriteOutcome } from '../identity/ports.ts'

export interface StoredLayer extends RuntimeLayer {
  /** On top of what is stored, for this process alone and until it ends or reads its configuration anew. */
  readonly volatile: RuntimeLayer
  dropVolatile(): void
}

/** The run-time layer of the configuration, kept in the store: every node has it, and a restart does not end it. */
export function createStoredLayer(store: SettingStore, clock: Clock): StoredLayer {
  const change = (section: string, key: string) => ({ section, key, nowSeconds: nowSeconds(clock) })
  let passing = createMemoryLayer()
  return {
    list: async () => [
      ...withoutThose((await store.listSettings()).settings, await passing.list()),
      ...(await passing.list()),
    ],
    async set(section, key, text) {
      requireWritten(await store.setSetting({ ...change(section, key), text }))
      await passing.unset(section, key)
    },
    async unset(section, key) {
      requireWritten(await store.unsetSetting(change(section, key)))
      await passing.unset(section, key)
    },
    volatile: {
      list: () => passing.list(),
      set: (section, key, text) => passing.set(section, key, text),
      unset: (section, key) => passing.unset(section, key),
    },
    dropVolatile: () => {
      passing = createMemoryLayer()
    },
  }
}

function withoutThose(entries: readonly RuntimeEntry[], others: readonly RuntimeEntry[]): readonly RuntimeEntry[] {
  return entries.filter(({ section, key }) => !others.some((other) => other.section === section && other.key === key))
}

function requireWritten(outcome: WriteOutcome): void {
  if (outcome.kind === 'conflict') throw new Refusal('conflict')
}
