// The configuration in a worker thread: copies of the main thread's config snapshots.
import type { KeyObject } from 'node:crypto'
import { createLive } from '../base/live.ts'
import { createSettings, type Settings } from '../config/settings.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { StartError } from '../kernel/start-error.ts'
import type { LiveConfig, ReloadPart } from './live-config.ts'
import { createSharedSecrets } from './shared-secrets.ts'
import type { ConfigSnapshot } from './snapshot.ts'

/** A config snapshot without its functions, which cannot be sent to another thread. */
export interface SnapshotCopy extends Omit<ConfigSnapshot, 'settings' | 'configured'> {
  readonly settings: Omit<Settings, 'find' | 'rules'>
}

export function copySnapshot({ settings, configured: _configured, ...snapshot }: ConfigSnapshot): SnapshotCopy {
  const { find: _find, rules: _rules, ...plain } = settings
  return { ...snapshot, settings: plain }
}

function toSnapshot({ settings: plain, ...snapshot }: SnapshotCopy): ConfigSnapshot {
  const settings = createSettings({ ...plain, rules: [] })
  return { ...snapshot, settings, configured: settings }
}

export interface ReplicaConfig extends LiveConfig {
  /** Replaces the snapshot, and reads the files of keys again. */
  replace(copy: SnapshotCopy): Promise<void>
}

export function createReplica(kernel: Kernel, first: SnapshotCopy, generatedKey: KeyObject): ReplicaConfig {
  const snapshot = createLive(toSnapshot(first))
  const listeners: ((snapshot: ConfigSnapshot) => void)[] = []
  const parts: ReloadPart[] = []
  return {
    get: snapshot.get,
    kernel,
    generatedKey,
    secrets: createSharedSecrets(),
    // only the main thread changes the configuration
    get runtime(): never {
      throw new TypeError('a worker thread has no run-time layer')
    },
    reload: async () => {
      throw new StartError('a worker thread cannot reload the configuration')
    },
    // the main thread sends its next snapshot by itself
    refresh: async () => ({ isApplied: true, problems: [], changed: [], needRestart: [] }),
    tryChange: async () => {
      throw new TypeError('a worker thread cannot change the configuration')
    },
    onChange: (listener) => void listeners.push(listener),
    joinReload: (part) => void parts.push(part),
    async replace(copy) {
      const next = toSnapshot(copy)
      for (const part of await Promise.all(parts.map((each) => each.prepare(next.settings))))
        if (part.problems.length === 0) part.apply()
      snapshot.set(next)
      for (const listener of listeners) listener(next)
    },
  }
}
