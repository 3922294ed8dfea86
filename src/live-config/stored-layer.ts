import { hash } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { AdministratorChange, AdministratorChanges } from '../directory/administrators.ts'
import type { Setting, SettingStore, UserStore, WriteOutcome } from '../directory/store-port.ts'
import { createMemoryLayer, type RuntimeLayer } from './runtime-layer.ts'

export interface RuntimeReading {
  readonly entries: readonly RuntimeEntry[]
  /** The change up to which the entries are complete. */
  readonly sequence: number
  /** When each administrator was last made, changed or deleted. */
  readonly changes: AdministratorChanges
  /** The hash made of the clear text that was last read in a file, by the name of the administrator. */
  readonly seen: ReadonlyMap<string, string>
  /** What replaced the stored form of an administrator outside this layer at a sign-in, by name. */
  readonly upgraded: ReadonlyMap<string, UpgradedHash>
  /** Cardea's own key in hexadecimal; `undefined` until one was made. */
  readonly ownKey: string | undefined
  /** Digest of the cookie secret whose predecessors were dropped at once. */
  readonly droppedFor: string | undefined
}

/** A stronger hash of a password that is given in a file, the environment or a flag. */
export interface UpgradedHash {
  /** The form it replaces, hashed like a password: the weak hash itself must not be found in the store. */
  readonly proof: string
  readonly text: string
}

export interface StoredLayer extends RuntimeLayer {
  /**
   * An administrator of the configuration. A name that was never used has no sessions to revoke, so tokens issued for
   * it beforehand are valid. Throws `conflict` where another node changed any since that sequence;
   * gives the new one.
   */
  seedAdministrator(name: string, text: string, unchangedSince: number): Promise<number>
  /** Records that the hash belongs to the plain text in a file, and is not a change made at run time. */
  setSeen(name: string, text: string): Promise<void>
  /** Keeps the key that every node uses from then on. */
  setOwnKey(text: string): Promise<void>
  /** Replaces the stored form of an administrator of this layer; foreign tokens issued before stay valid. */
  replaceHash(name: string, text: string, unchangedSince: number): Promise<void>
  /** The same for one that is given elsewhere. */
  setUpgraded(name: string, upgraded: UpgradedHash): Promise<void>
  /** Moves the session epoch of an administrator, whichever layer it is given in. */
  endAdministratorSessions(name: string): Promise<void>
  read(): Promise<RuntimeReading>
  /** Above the stored settings, for this process only, until it ends or reloads its configuration. */
  readonly volatile: RuntimeLayer
  /** Gives what takes it back. */
  dropVolatile(): () => void
}

/** The run-time layer of the configuration, kept in the store: every node has it, and a restart does not end it. */
export function createStoredLayer(store: SettingStore & Pick<UserStore, 'findUser'>, clock: Clock): StoredLayer {
  const change = (section: string, key: string) => ({ section, key, nowSeconds: nowSeconds(clock) })
  let passing = createMemoryLayer()
  const read = async (): Promise<RuntimeReading> => {
    const { settings, sequence } = await store.listSettings()
    const own = await passing.list()
    const passingEntries = own.filter(({ section }) => section !== DROPS)
    const entries = [...withoutThose(toEntries(settings), passingEntries), ...passingEntries]
    const { text: droppedFor } = [...own, ...settings].find(({ section }) => section === DROPS) ?? {}
    const seen = new Map(settings.flatMap(({ section, key, text }) => (section === SEEN && text ? [[key, text]] : [])))
    const ownKey = settings.find(({ section, key }) => section === KEYS && key === OWN)?.text ?? undefined
    return { entries, sequence, changes: toChanges(settings), seen, upgraded: toUpgraded(settings), ownKey, droppedFor }
  }
  const unset = async (section: string, key: string) => {
    requireWritten(await store.unsetSetting(change(section, key)))
    await passing.forget(section, key)
  }
  return {
    read,
    list: async () => toEntries((await store.listSettings()).settings),
    async set(section, key, text) {
      requireWritten(await store.setSetting({ ...change(section, key), text }))
      await passing.forget(section, key)
    },
    unset,
    forget: unset,
    async seedAdministrator(name, text, unchangedSince) {
      const { settings } = await store.listSettings()
      const isKnown = settings.some(({ section, key }) => section === ADMINS && key === name)
      const isNew = !isKnown && (await store.findUser(name)) === undefined
      const seed = { ...change(ADMINS, name), ...(isNew ? { nowSeconds: NEVER } : {}), text, unchangedSince }
      return requireWritten(await store.setSetting(seed))
    },
    setSeen: async (name, text) => void requireWritten(await store.setSetting({ ...change(SEEN, name), text })),
    setOwnKey: async (text) => void requireWritten(await store.setSetting({ ...change(KEYS, OWN), text })),
    async replaceHash(name, text, unchangedSince) {
      const { seconds = NEVER } = toChanges((await store.listSettings()).settings).get(name) ?? {}
      requireWritten(await store.setSetting({ section: ADMINS, key: name, nowSeconds: seconds, text, unchangedSince }))
    },
    setUpgraded: async (name, { proof, text }) =>
      void requireWritten(await store.setSetting({ ...change(UPGRADED, name), text: `${proof}\n${text}` })),
    endAdministratorSessions: async (name) =>
      void requireWritten(await store.setSetting({ ...change(EPOCHS, name), text: '' })),
    volatile: {
      list: () => passing.list(),
      set: (section, key, text) => passing.set(section, key, text),
      unset: (section, key) => passing.unset(section, key),
      forget: (section, key) => passing.forget(section, key),
    },
    dropVolatile: () => {
      const dropped = passing
      passing = createMemoryLayer()
      return () => {
        passing = dropped
      }
    },
  }
}

const ADMINS = 'admins'
const NEVER = 0

/** No setting can be in sections of these names: what is kept there is neither read as one, nor shown, nor set. */
const SEEN = '[admins]'
const KEYS = '[keys]'
const OWN = 'own'
const DROPS = '[chttpd_auth]'
/** When each administrator's sessions were last ended while its entry stayed as it is. */
const EPOCHS = '[admins] sessions'
const UPGRADED = '[admins] upgraded'
const HIDDEN: ReadonlySet<string> = new Set([SEEN, KEYS, DROPS, EPOCHS, UPGRADED])

/**
 * Notes beside a new cookie secret, before it is set, that earlier ones are to be dropped at once. Every node that
 * learns the secret finds the note with it; until then it names a secret that is not in use, and means nothing.
 */
export const noteDrop = (layer: RuntimeLayer, secret: string): Promise<void> =>
  layer.set(DROPS, 'secret', digestOf(secret))

/** Whether the secrets before this one were dropped at once. */
export const isDroppedFor = (secret: string, { droppedFor }: Pick<RuntimeReading, 'droppedFor'>): boolean =>
  secret !== '' && droppedFor === digestOf(secret)

const digestOf = (secret: string): string => hash('sha256', secret)

/** What was set at run time. What was made of a file's clear text belongs to that file, and counts as long as it does. */
export function toEntries(settings: readonly Setting[]): readonly RuntimeEntry[] {
  const seen = new Map(settings.filter(({ section }) => section === SEEN).map((setting) => [setting.key, setting]))
  return settings.filter((setting) => !HIDDEN.has(setting.section) && !isOfFile(setting, seen.get(setting.key)))
}

/** The same text written later was written at run time, by a client that had read it. */
const isOfFile = ({ section, text, sequence }: Setting, seen: Setting | undefined): boolean =>
  section === ADMINS && seen !== undefined && text === seen.text && sequence < seen.sequence

const toUpgraded = (settings: readonly Setting[]): ReadonlyMap<string, UpgradedHash> =>
  new Map(
    settings.flatMap(({ section, key, text = '' }) => {
      const [proof = '', replacement = ''] = text.split('\n')
      return section === UPGRADED ? [[key, { proof, text: replacement }]] : []
    }),
  )

function toChanges(settings: readonly Setting[]): AdministratorChanges {
  const changes = new Map<string, AdministratorChange>()
  for (const { section, key, sequence, changedAt } of settings) {
    if (section !== ADMINS && section !== EPOCHS) continue
    const { sequence: before = 0, seconds = 0 } = changes.get(key) ?? {}
    changes.set(key, { sequence: Math.max(before, sequence), seconds: Math.max(seconds, changedAt) })
  }
  return changes
}

function withoutThose(entries: readonly RuntimeEntry[], others: readonly RuntimeEntry[]): readonly RuntimeEntry[] {
  return entries.filter(({ section, key }) => !others.some((other) => other.section === section && other.key === key))
}

function requireWritten(outcome: WriteOutcome): number {
  if (outcome.kind === 'conflict') throw new Refusal('conflict')
  return outcome.sequence
}
