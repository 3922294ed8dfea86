// The options that the store keeps: what its records mean, and the layer of the configuration that they form.
import { hash } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { readJson, readJsonObject } from '../base/json.ts'
import type { Siblings, Topic } from '../base/siblings.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { Config } from '../config/options.ts'
import {
  type AdministratorChange,
  type AdministratorChanges,
  type AdministratorPasskeys,
  type AdministratorText,
  type KeptAdministratorSession,
  NO_CHANGE,
  PASSKEYS_OF_ADMINISTRATORS,
  SESSIONS_OF_ADMINISTRATORS,
  TOTP_OF_ADMINISTRATORS as TOTP,
  toPasskeyEntry,
} from '../directory/administrators.ts'
import type { Position } from '../directory/store-port/changes.ts'
import type {
  Setting,
  SettingChange,
  SettingList,
  SettingOutcome,
  SettingStore,
} from '../directory/store-port/settings.ts'
import type { UserStore } from '../directory/store-port/users.ts'
import type { Json, Passkey } from '../directory/users/user.ts'
import { type KeptTimeout, readTimeouts, renderTimeouts, toKept } from './kept-timeouts.ts'

export interface RuntimeReading {
  readonly entries: readonly RuntimeEntry[]
  /** The change up to which the entries are complete. */
  readonly position: Position
  /** When each administrator was last created, changed or deleted. */
  readonly changes: AdministratorChanges
  /** The hash of the plain text last read in a file, by the name of the administrator. */
  readonly seen: ReadonlyMap<string, string>
  /** The stronger hash that replaced one outside this layer at a sign-in, by the name of the administrator. */
  readonly upgraded: ReadonlyMap<string, UpgradedHash>
  /** Cardea's own key in hexadecimal; `undefined` until one is created. */
  readonly ownKey: string | undefined
  /** Digests of the cookie secrets whose predecessors are rejected. */
  readonly droppedFor: ReadonlySet<string | undefined>
  readonly timeouts: readonly KeptTimeout[]
}

/** A stronger hash of a password that is given in a file, the environment or a flag. */
interface UpgradedHash {
  /** The hash it replaces, hashed like a password: the store must not contain the weak hash itself. */
  readonly proof: string
  readonly text: string
}

export const ADMINS = 'admins'

/** Internal records. No setting can be in a section of these names, so they are never read, shown or set as one. */
const SEEN = '[admins]'
const KEYS = '[keys]'
const OWN = 'own'
const COOKIES = '[chttpd_auth]'
const DROPPED_FOR = 'secret'
const KEPT_TIMEOUTS = 'timeouts'
const UPGRADED = '[admins] upgraded'
const HIDDEN: ReadonlySet<string> = new Set([
  ...[SEEN, KEYS, COOKIES, UPGRADED],
  ...[SESSIONS_OF_ADMINISTRATORS, TOTP, PASSKEYS_OF_ADMINISTRATORS],
])

/** Settings made at run time. The hash of a plain text in a file, variable or flag belongs to it and is not among them. */
export function toEntries(settings: readonly Setting[]): readonly RuntimeEntry[] {
  const seen = new Map(settings.filter(({ section }) => section === SEEN).map((setting) => [setting.key, setting]))
  return settings.filter((setting) => !HIDDEN.has(setting.section) && !isOfGiven(setting, seen.get(setting.key)))
}

/** An equal text with a later sequence is not: a client that had read it wrote it at run time. */
const isOfGiven = ({ section, text, sequence }: Setting, seen: Setting | undefined): boolean =>
  section === ADMINS && seen !== undefined && text === seen.text && sequence < seen.sequence

const toUpgraded = (settings: readonly Setting[]): ReadonlyMap<string, UpgradedHash> =>
  new Map(
    settings.flatMap(({ section, key, text = '' }) => {
      const [proof = '', replacement = ''] = text.split('\n')
      return section === UPGRADED ? [[key, { proof, text: replacement }]] : []
    }),
  )

export function toChanges(settings: readonly Setting[]): AdministratorChanges {
  const changes = new Map<string, AdministratorChange>()
  for (const { section, key, sequence, mark, changedAt, text } of settings) {
    const known = changes.get(key) ?? NO_CHANGE
    if (section === TOTP) changes.set(key, { ...known, totp: readTotp(text) })
    if (section === PASSKEYS_OF_ADMINISTRATORS) changes.set(key, { ...known, passkeys: readPasskeys(text) })
    if (section !== ADMINS && section !== SESSIONS_OF_ADMINISTRATORS) continue
    const latest = sequence > known.sequence ? { sequence, mark, kept: readKept(section, text) } : {}
    changes.set(key, { ...known, ...latest, seconds: Math.max(known.seconds, changedAt) })
  }
  return changes
}

/** Only the latest change counts: any other ends the session as well. */
function readKept(section: string, text: string | undefined): KeptAdministratorSession | undefined {
  const { id, generation, version } = (section === SESSIONS_OF_ADMINISTRATORS && readJsonObject(text ?? '')) || {}
  if (typeof id !== 'string' || typeof generation !== 'number' || typeof version !== 'string') return undefined
  return { id, generation, version }
}

/** Only `toPasskeyEntry` writes it. */
function readPasskeys(text: string | undefined): AdministratorPasskeys | undefined {
  const { version, list } = readJsonObject(text ?? '') ?? {}
  // the other members are those of the writer
  return typeof version === 'string' && Array.isArray(list) ? { version, list: list as Passkey[] } : undefined
}

/** A text that is no JSON is still a second factor, for which no code is right. */
function readTotp(text: string | undefined): Json {
  const reading = readJson(text ?? '')
  // what JSON.parse returns is Json
  return reading.kind === 'json' ? (reading.value as Json) : null
}

/** Combines the records of the store with the settings of this server only, which hide them. */
function readRecords({ settings, position }: SettingList, own: readonly RuntimeEntry[]): RuntimeReading {
  const hiding = own.filter(({ section }) => section !== COOKIES)
  return {
    entries: [...withoutThose(toEntries(settings), hiding), ...hiding],
    position,
    changes: toChanges(settings),
    seen: new Map(settings.flatMap(({ section, key, text }) => (section === SEEN && text ? [[key, text]] : []))),
    upgraded: toUpgraded(settings),
    ownKey: settings.find(({ section, key }) => section === KEYS && key === OWN)?.text ?? undefined,
    droppedFor: new Set([...own, ...settings].filter(isDrop).map(({ text }) => text)),
    timeouts: readTimeouts(settings.find(isTimeouts)?.text ?? ''),
  }
}

const isDrop = ({ section, key }: RuntimeEntry): boolean => section === COOKIES && key.startsWith(DROPPED_FOR)

const isTimeouts = ({ section, key }: RuntimeEntry): boolean => section === COOKIES && key === KEPT_TIMEOUTS

const withoutThose = (entries: readonly RuntimeEntry[], others: readonly RuntimeEntry[]): readonly RuntimeEntry[] =>
  entries.filter(({ section, key }) => !others.some((other) => other.section === section && other.key === key))

/** Changes of administrators that are more than a new text. */
export type AdministratorRecords = ReturnType<typeof createAdministratorRecords>

export type StoredLayer = ReturnType<typeof createStoredLayer>

type LayerStore = SettingStore & Pick<UserStore, 'findUser'>

/** The run-time layer of the configuration, kept in the store: every node has it, and a restart does not end it. */
export function createStoredLayer(store: LayerStore, clock: Clock, volatile = createMemoryLayer()) {
  const write: Write = async (section, key, text, change = {}) =>
    requireWritten(await store.setSetting({ section, key, text, nowSeconds: nowSeconds(clock), ...change }))
  const unset = async (section: string, key: string) => {
    requireWritten(await store.unsetSetting({ section, key, nowSeconds: nowSeconds(clock) }))
    await volatile.forget(section, key)
  }
  const layer: RuntimeLayer = {
    list: async () => toEntries((await store.listSettings()).settings),
    async set(section, key, text, unchangedSince) {
      await write(section, key, text, unchangedSince === undefined ? {} : { unchangedSince })
      await volatile.forget(section, key)
    },
    unset,
    forget: unset,
  }
  return {
    ...layer,
    read: async () => readRecords(await store.listSettings(), await volatile.list()),
    /** Stores the key that every node uses from then on. */
    setOwnKey: async (text: string, unchangedSince: Position) =>
      void (await write(KEYS, OWN, text, { unchangedSince })),
    /** Stores the timeouts of session cookies, with those that were replaced. */
    setTimeouts: async (kept: readonly KeptTimeout[], values: Config) =>
      void (await write(COOKIES, KEPT_TIMEOUTS, renderTimeouts(toKept(kept, values, nowSeconds(clock))))),
    administrators: createAdministratorRecords(store, write, clock),
    /** Above the stored settings, for this server only, until it ends or reloads its configuration. */
    volatile,
  }
}

/** Writes a record and returns the position of the change. */
type Write = (section: string, key: string, text: string, change?: WriteChange) => Promise<Position>

interface WriteChange extends Pick<SettingChange, 'unchangedSince' | 'also'> {
  readonly nowSeconds?: number
}

const NEVER = 0

const createAdministratorRecords = (store: LayerStore, write: Write, clock: Clock) => ({
  /**
   * Stores an administrator of the configuration. A name that was never used has no sessions to revoke, so tokens
   * issued for it beforehand are valid. Throws `conflict` if another node changed an administrator since that
   * position; returns the new one.
   */
  async seedAdministrator(name: string, text: string, unchangedSince: Position): Promise<Position> {
    const { settings } = await store.listSettings()
    const isKnown = settings.some(({ section, key }) => section === ADMINS && key === name)
    const isNew = !isKnown && (await store.findUser(name)) === undefined
    return write(ADMINS, name, text, { ...(isNew && { nowSeconds: NEVER }), unchangedSince })
  },
  /** Replaces the hash of an administrator of this layer; external tokens issued before stay valid. */
  async replaceHash(name: string, text: string, change: WriteChange): Promise<void> {
    const { seconds = NEVER } = toChanges((await store.listSettings()).settings).get(name) ?? {}
    await write(ADMINS, name, text, { nowSeconds: seconds, ...change })
  },
  /** Records that the hash belongs to the plain text of a file, variable or flag: it is no change made at run time. */
  setSeen: async (name: string, text: string) => void (await write(SEEN, name, text)),
  /** As `replaceHash`, for an administrator of another layer. */
  setUpgraded: async (name: string, { proof, text }: UpgradedHash, change: WriteChange = {}) =>
    void (await write(UPGRADED, name, `${proof}\n${text}`, change)),
  /** Raises the session epoch of an administrator of any layer. One session may stay. */
  endAdministratorSessions: async (name: string, kept?: KeptAdministratorSession) =>
    void (await write(SESSIONS_OF_ADMINISTRATORS, name, kept ? JSON.stringify(kept) : '')),
  /** Sets the second factor of an administrator of any layer, as JSON; `undefined` removes it. */
  async setTotp(name: string, text: string | undefined): Promise<void> {
    if (text !== undefined) await write(TOTP, name, text)
    else requireWritten(await store.unsetSetting({ section: TOTP, key: name, nowSeconds: nowSeconds(clock) }))
  },
  /** In one transaction with the end of its sessions. Returns whether no passkey and no session was changed since. */
  async setPasskeys(
    { name, text }: AdministratorText,
    list: readonly Passkey[],
    { unchangedSince, ending }: { unchangedSince: Position; ending?: { kept: KeptAdministratorSession | undefined } },
  ): Promise<boolean> {
    const { kept } = ending ?? {}
    const ended = { section: SESSIONS_OF_ADMINISTRATORS, key: name, text: kept ? JSON.stringify(kept) : '' }
    const change = { ...toPasskeyEntry(name, text, list), nowSeconds: nowSeconds(clock), unchangedSince }
    return (await store.setSetting({ ...change, also: ending ? [ended] : [] })).kind === 'written'
  },
})

/**
 * Records, before a new cookie secret is set, that earlier ones are rejected at once. Every node that reads the new
 * secret finds this record; until then it names a secret that is not in use and has no effect. The record of the
 * secret in use stays: the new one may not be set after all.
 */
export const noteDrop = (layer: RuntimeLayer, secret: string): Promise<void> =>
  layer.set(COOKIES, `${DROPPED_FOR} ${digestOf(secret)}`, digestOf(secret))

/** Whether the secrets before this one are rejected. */
export const isDroppedFor = (secret: string, { droppedFor }: Pick<RuntimeReading, 'droppedFor'>): boolean =>
  secret !== '' && droppedFor.has(digestOf(secret))

const digestOf = (secret: string): string => hash('sha256', secret)

function requireWritten(outcome: SettingOutcome): Position {
  if (outcome.kind !== 'written') throw new Refusal('conflict')
  return { sequence: outcome.sequence, mark: outcome.mark }
}

/** The layer of settings made at run time, between files and environment. */
export interface RuntimeLayer {
  list(): Promise<readonly RuntimeEntry[]>
  /** Throws `conflict` if the section in the store has changed since this position; nothing is written then. */
  set(section: string, key: string, text: string, unchangedSince?: Position): Promise<void>
  /** Returns to the value of the layers below. An administrator stays marked as deleted. */
  unset(section: string, key: string): Promise<void>
  /** Removes the entry and the mark of a deletion. */
  forget(section: string, key: string): Promise<void>
}

/** A layer that ends with the process. Unsetting an option leaves a mark that hides the stored value. */
export interface VolatileLayer extends RuntimeLayer {
  /** Empties the layer. */
  drop(): void
}

export function createMemoryLayer(): VolatileLayer {
  const entries = new Map<string, RuntimeEntry>()
  const keyOf = (section: string, key: string) => JSON.stringify([section, key])
  return {
    list: async () => [...entries.values()],
    set: async (section, key, text) => void entries.set(keyOf(section, key), { section, key, text }),
    unset: async (section, key) => void entries.set(keyOf(section, key), { section, key, text: undefined }),
    forget: async (section, key) => void entries.delete(keyOf(section, key)),
    drop: () => entries.clear(),
  }
}

type VolatileChange = readonly ['set', string, string, string] | readonly ['unset' | 'forget', string, string]
const VOLATILE: Topic<VolatileChange> = { name: 'volatile' }
const VOLATILE_ENTRIES: Topic<undefined, readonly RuntimeEntry[]> = { name: 'volatile.entries' }

/** The layer of all siblings: what one of them changes, the others have applied when its operation resolves. */
export async function shareVolatile(
  layer: VolatileLayer,
  siblings: Siblings,
  refresh: () => Promise<unknown>,
): Promise<VolatileLayer> {
  const change = async (what: VolatileChange): Promise<void> => {
    if (what[0] === 'set') await layer.set(what[1], what[2], what[3])
    else await layer[what[0]](what[1], what[2])
  }
  const changeAll = async (what: VolatileChange): Promise<void> => {
    await change(what)
    await siblings.tellAll(VOLATILE, what)
  }
  siblings.answer(VOLATILE, async (what) => {
    await change(what)
    await refresh()
  })
  siblings.answer(VOLATILE_ENTRIES, layer.list)
  const [entries = []] = await siblings.askAll(VOLATILE_ENTRIES, undefined)
  for (const { section, key, text } of entries)
    await change(text === undefined ? ['unset', section, key] : ['set', section, key, text])
  if (entries.length > 0) await refresh()
  return {
    ...layer,
    set: (section, key, text) => changeAll(['set', section, key, text]),
    unset: (section, key) => changeAll(['unset', section, key]),
    async forget(section, key) {
      const isThere = (await layer.list()).some((entry) => entry.section === section && entry.key === key)
      if (isThere) await changeAll(['forget', section, key])
    },
  }
}
