import { hash } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { KeptAdministratorSession } from '../directory/administrators.ts'
import type { WriteOutcome } from '../directory/store-port/changes.ts'
import type { SettingStore } from '../directory/store-port/settings.ts'
import type { UserStore } from '../directory/store-port/users.ts'
import {
  ADMINS,
  DROPS,
  EPOCHS,
  KEYS,
  OWN,
  type RuntimeReading,
  readRecords,
  SEEN,
  TOTP,
  toChanges,
  toEntries,
  UPGRADED,
  type UpgradedHash,
} from './setting-records.ts'

/** Changes of administrators that are more than a new text. */
export type AdministratorRecords = ReturnType<typeof createAdministratorRecords>

export type StoredLayer = ReturnType<typeof createStoredLayer>

type LayerStore = SettingStore & Pick<UserStore, 'findUser'>

/** The run-time layer of the configuration, kept in the store: every node has it, and a restart does not end it. */
export function createStoredLayer(store: LayerStore, clock: Clock) {
  const write = createWriter(store, clock)
  const volatile = createMemoryLayer()
  const unset = async (section: string, key: string) => {
    requireWritten(await store.unsetSetting({ section, key, nowSeconds: nowSeconds(clock) }))
    await volatile.forget(section, key)
  }
  const layer: RuntimeLayer = {
    list: async () => toEntries((await store.listSettings()).settings),
    async set(section, key, text) {
      await write(section, key, text)
      await volatile.forget(section, key)
    },
    unset,
    forget: unset,
  }
  return {
    ...layer,
    read: async () => readRecords(await store.listSettings(), await volatile.list()),
    /** Stores the key that every node uses from then on. */
    setOwnKey: async (text: string) => void (await write(KEYS, OWN, text)),
    administrators: createAdministratorRecords(store, write, clock),
    /** Above the stored settings, for this process only, until it ends or reloads its configuration. */
    volatile,
  }
}

/** Writes a record and returns the sequence of the change. */
type Write = (
  section: string,
  key: string,
  text: string,
  change?: { readonly nowSeconds?: number; readonly unchangedSince?: number },
) => Promise<number>

const createWriter =
  (store: SettingStore, clock: Clock): Write =>
  async (section, key, text, change = {}) =>
    requireWritten(await store.setSetting({ section, key, text, nowSeconds: nowSeconds(clock), ...change }))

const NEVER = 0

function createAdministratorRecords(store: LayerStore, write: Write, clock: Clock) {
  return {
    /**
     * Stores an administrator of the configuration. A name that was never used has no sessions to revoke, so tokens
     * issued for it beforehand are valid. Throws `conflict` if another node changed an administrator since that
     * sequence; returns the new one.
     */
    async seedAdministrator(name: string, text: string, unchangedSince: number): Promise<number> {
      const { settings } = await store.listSettings()
      const isKnown = settings.some(({ section, key }) => section === ADMINS && key === name)
      const isNew = !isKnown && (await store.findUser(name)) === undefined
      return write(ADMINS, name, text, { ...(isNew && { nowSeconds: NEVER }), unchangedSince })
    },
    /** Replaces the hash of an administrator of this layer; external tokens issued before stay valid. */
    async replaceHash(name: string, text: string, unchangedSince: number): Promise<void> {
      const { seconds = NEVER } = toChanges((await store.listSettings()).settings).get(name) ?? {}
      await write(ADMINS, name, text, { nowSeconds: seconds, unchangedSince })
    },
    /** Records that the hash belongs to the plain text of a file, variable or flag: it is no change made at run time. */
    setSeen: async (name: string, text: string) => void (await write(SEEN, name, text)),
    /** As `replaceHash`, for an administrator of another layer. */
    setUpgraded: async (name: string, { proof, text }: UpgradedHash) =>
      void (await write(UPGRADED, name, `${proof}\n${text}`)),
    /** Raises the session epoch of an administrator of any layer. One session may stay. */
    endAdministratorSessions: async (name: string, kept?: KeptAdministratorSession) =>
      void (await write(EPOCHS, name, kept ? JSON.stringify(kept) : '')),
    /** Sets the second factor of an administrator of any layer, as JSON; `undefined` removes it. */
    async setTotp(name: string, text: string | undefined): Promise<void> {
      if (text !== undefined) await write(TOTP, name, text)
      else requireWritten(await store.unsetSetting({ section: TOTP, key: name, nowSeconds: nowSeconds(clock) }))
    },
  }
}

/**
 * Records, before a new cookie secret is set, that earlier ones are rejected at once. Every node that reads the new
 * secret finds this record; until then it names a secret that is not in use and has no effect.
 */
export const noteDrop = (layer: RuntimeLayer, secret: string): Promise<void> =>
  layer.set(DROPS, 'secret', digestOf(secret))

/** Whether the secrets before this one are rejected. */
export const isDroppedFor = (secret: string, { droppedFor }: Pick<RuntimeReading, 'droppedFor'>): boolean =>
  secret !== '' && droppedFor === digestOf(secret)

const digestOf = (secret: string): string => hash('sha256', secret)

function requireWritten(outcome: WriteOutcome): number {
  if (outcome.kind === 'conflict') throw new Refusal('conflict')
  return outcome.sequence
}

/** The layer of settings made at run time, between files and environment. */
export interface RuntimeLayer {
  list(): Promise<readonly RuntimeEntry[]>
  set(section: string, key: string, text: string): Promise<void>
  /** Returns to the value of the layers below. An administrator stays marked as deleted. */
  unset(section: string, key: string): Promise<void>
  /** Removes the entry and the mark of a deletion. */
  forget(section: string, key: string): Promise<void>
}

/** A layer that ends with the process. Unsetting an option leaves a mark that hides the stored value. */
export interface VolatileLayer extends RuntimeLayer {
  /** Empties the layer. Returns a function that restores it. */
  drop(): () => void
}

export function createMemoryLayer(): VolatileLayer {
  let entries = new Map<string, RuntimeEntry>()
  const keyOf = (section: string, key: string) => JSON.stringify([section, key])
  return {
    list: async () => [...entries.values()],
    set: async (section, key, text) => void entries.set(keyOf(section, key), { section, key, text }),
    unset: async (section, key) => void entries.set(keyOf(section, key), { section, key, text: undefined }),
    forget: async (section, key) => void entries.delete(keyOf(section, key)),
    drop() {
      const dropped = entries
      entries = new Map()
      return () => {
        entries = dropped
      }
    },
  }
}
