import type { Clock } from '../base/clock.ts'
import { nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { RuntimeLayer } from '../config/runtime.ts'
import type { SettingStore, WriteOutcome } from '../identity/ports.ts'

/** The run-time layer of the configuration, kept in the store: every node has it, and a restart does not end it. */
export function createStoredLayer(store: SettingStore, clock: Clock): RuntimeLayer {
  const change = (section: string, key: string) => ({ section, key, nowSeconds: nowSeconds(clock) })
  return {
    list: async () => (await store.listSettings()).settings,
    set: async (section, key, text) => requireWritten(await store.setSetting({ ...change(section, key), text })),
    unset: async (section, key) => requireWritten(await store.unsetSetting(change(section, key))),
  }
}

function requireWritten(outcome: WriteOutcome): void {
  if (outcome.kind === 'conflict') throw new Refusal('conflict')
}
