// What the records of the store's table of settings mean.
import { isJsonObject, readJson } from '../base/json.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type {
  AdministratorChange,
  AdministratorChanges,
  KeptAdministratorSession,
} from '../directory/administrators.ts'
import type { Setting } from '../directory/store-port/settings.ts'
import type { Json } from '../directory/users/user.ts'

export interface RuntimeReading {
  readonly entries: readonly RuntimeEntry[]
  /** The change up to which the entries are complete. */
  readonly sequence: number
  /** When each administrator was last created, changed or deleted. */
  readonly changes: AdministratorChanges
  /** The hash of the plain text last read in a file, by the name of the administrator. */
  readonly seen: ReadonlyMap<string, string>
  /** The stronger hash that replaced one outside this layer at a sign-in, by the name of the administrator. */
  readonly upgraded: ReadonlyMap<string, UpgradedHash>
  /** Cardea's own key in hexadecimal; `undefined` until one is created. */
  readonly ownKey: string | undefined
  /** Digest of the cookie secret whose predecessors are rejected. */
  readonly droppedFor: string | undefined
}

/** A stronger hash of a password that is given in a file, the environment or a flag. */
export interface UpgradedHash {
  /** The hash it replaces, hashed like a password: the store must not contain the weak hash itself. */
  readonly proof: string
  readonly text: string
}

export const ADMINS = 'admins'

/** Internal records. No setting can be in a section of these names, so they are never read, shown or set as one. */
export const SEEN = '[admins]'
export const KEYS = '[keys]'
export const OWN = 'own'
export const DROPS = '[chttpd_auth]'
/** When the sessions of each administrator were last revoked without a change of its entry, and which one was not. */
export const EPOCHS = '[admins] sessions'
export const UPGRADED = '[admins] upgraded'
/** The second factor of each administrator, as JSON. */
export const TOTP = '[admins] totp'
const HIDDEN: ReadonlySet<string> = new Set([SEEN, KEYS, DROPS, EPOCHS, UPGRADED, TOTP])

/** Settings made at run time. The hash of a plain text in a file, variable or flag belongs to it and is not among them. */
export function toEntries(settings: readonly Setting[]): readonly RuntimeEntry[] {
  const seen = new Map(settings.filter(({ section }) => section === SEEN).map((setting) => [setting.key, setting]))
  return settings.filter((setting) => !HIDDEN.has(setting.section) && !isOfGiven(setting, seen.get(setting.key)))
}

/** The same text with a later sequence was written at run time, by a client that had read it. */
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
  for (const { section, key, sequence, changedAt, text } of settings) {
    const known = changes.get(key) ?? NO_CHANGE
    if (section === TOTP) changes.set(key, { ...known, totp: readTotp(text) })
    if (section !== ADMINS && section !== EPOCHS) continue
    const latest = sequence > known.sequence ? { sequence, kept: readKept(section, text) } : {}
    changes.set(key, { ...known, ...latest, seconds: Math.max(known.seconds, changedAt) })
  }
  return changes
}

const NO_CHANGE: AdministratorChange = Object.freeze({ sequence: 0, seconds: 0 })

/** Only the latest change counts: any other ends the session as well. */
function readKept(section: string, text: string | undefined): KeptAdministratorSession | undefined {
  const reading = section === EPOCHS && text ? readJson(text) : undefined
  const { id, generation, version } = reading?.kind === 'json' && isJsonObject(reading.value) ? reading.value : {}
  if (typeof id !== 'string' || typeof generation !== 'number' || typeof version !== 'string') return undefined
  return { id, generation, version }
}

/** A text that is no JSON is still a second factor, for which no code is right. */
function readTotp(text: string | undefined): Json {
  const reading = readJson(text ?? '')
  return reading.kind === 'json' ? (reading.value as Json) : null
}

/** Combines the records of the store with the settings of this process only, which hide them. */
export function readRecords(
  { settings, sequence }: { readonly settings: readonly Setting[]; readonly sequence: number },
  own: readonly RuntimeEntry[],
): RuntimeReading {
  const hiding = own.filter(({ section }) => section !== DROPS)
  return {
    entries: [...withoutThose(toEntries(settings), hiding), ...hiding],
    sequence,
    changes: toChanges(settings),
    seen: new Map(settings.flatMap(({ section, key, text }) => (section === SEEN && text ? [[key, text]] : []))),
    upgraded: toUpgraded(settings),
    ownKey: settings.find(({ section, key }) => section === KEYS && key === OWN)?.text ?? undefined,
    droppedFor: [...own, ...settings].find(({ section }) => section === DROPS)?.text,
  }
}

function withoutThose(entries: readonly RuntimeEntry[], others: readonly RuntimeEntry[]): readonly RuntimeEntry[] {
  return entries.filter(({ section, key }) => !others.some((other) => other.section === section && other.key === key))
}
