// Builds a config snapshot from files, environment, flags and the store.
import { randomBytes } from 'node:crypto'
import { Refusal } from '../base/errors.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { SettingsReader } from '../config/load.ts'
import { renderAt, renderProblem } from '../config/problems.ts'
import type { ConfigReading } from '../config/read.ts'
import { compareSettings, createSettings, renderSource, type Settings } from '../config/settings.ts'
import type { AdministratorAccount, AdministratorChanges } from '../directory/administrators.ts'
import type { Position } from '../directory/store-port/changes.ts'
import { StartError } from '../kernel/start-error.ts'
import { type FileHashes, findAdministrators } from './administrators.ts'
import { findHashes, type Hashing, hashAdministrators } from './hash-administrators.ts'
import { isKept, type KeptTimeout } from './kept-timeouts.ts'
import { ConfigError } from './load.ts'
import type { SharedSecrets } from './shared-secrets.ts'
import { ADMINS, isDroppedFor, type RuntimeReading, type StoredLayer } from './stored-layer.ts'

/** Settings and administrators, as of one moment. */
export interface ConfigSnapshot {
  readonly settings: Settings
  /** All layers as last read, with the values that take effect only after a restart. */
  readonly configured: Settings
  readonly warnings: readonly string[]
  readonly administrators: ReadonlyMap<string, AdministratorAccount>
  readonly administratorChanges: AdministratorChanges
  readonly fileHashes: FileHashes
  /** Cardea's own signing key, the same on every node. */
  readonly ownKey: Uint8Array
  /** The last change of the store that is included. */
  readonly position: Position
  /** Whether cookies signed with an earlier secret are rejected at once. */
  readonly dropsEarlierSecrets: boolean
  /** The timeouts of session cookies, those of before the start too. */
  readonly timeouts: readonly KeptTimeout[]
}

export interface BuiltSnapshot {
  readonly next: ConfigSnapshot
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  readonly needRestart: readonly string[]
}

export interface SnapshotDeps extends Hashing {
  readonly runtime: StoredLayer
  readonly mayLackAdministrator: boolean
  /** The cookie secret where none is configured until the server ends. Siblings have the same. */
  readonly ownSecret: string
  /** Whether a secret of these settings has another use. */
  readonly checkSecrets: SharedSecrets['check']
}

interface LayersReading extends RuntimeReading {
  readonly reading: ConfigReading
}

const NO_ADMINISTRATOR = `No administrator is configured, so this server could not be managed: not starting.
Create one, with any of these:
  cardea init                       creates a folder with a configuration and an administrator
  cardea admin add NAME             asks for the password and keeps its hash in the store
  [admins] in a configuration file  name = password (hashed at start)
  --admins.NAME PASSWORD            or CARDEA_ADMINS__NAME in the environment
  options: { admins: { NAME: … } }  or files: [ … ], as an argument of createCardea in a program`

/** Reads all layers, hashes plain-text passwords and creates missing keys. Throws on any problem. */
export async function buildSnapshot(
  reader: SettingsReader,
  deps: SnapshotDeps,
  before: ConfigSnapshot | undefined,
): Promise<BuiltSnapshot> {
  const created = await createMissingWithRetry(reader, deps, before)
  const seen = created.isWritten ? await readValid(reader, deps) : created.seen
  const { settings, warnings } = seen.reading
  const hashes = await shareHashes(seen, created.hashes, deps)
  const administrators = findAdministrators(settings, seen.changes, hashes)
  const missing = deps.mayLackAdministrator ? undefined : findMissing(administrators, before !== undefined)
  if (missing !== undefined) throw new StartError(missing)
  for (const warning of warnings) if (!before?.warnings.includes(warning)) deps.log.warn(warning)
  for (const { entry, reason } of administrators.malformed)
    deps.log.error('administrator refused', { name: entry.name, place: renderSource(entry.source), reason })
  return toSnapshot(seen, settings, hashes, before)
}

type Administrators = ReturnType<typeof findAdministrators>

/** One message for each malformed entry, with its place. */
const renderMalformed = ({ malformed }: Administrators): readonly string[] =>
  malformed.map(({ entry, reason }) =>
    renderAt(renderSource(entry.source), `administrator ${entry.name} is malformed: ${reason}`),
  )

/** What to do if there is no administrator, with the entries that are malformed; `undefined`: there is one. */
const findMissing = (administrators: Administrators, isServing: boolean): string | undefined =>
  administrators.accounts.size > 0
    ? undefined
    : [...renderMalformed(administrators), isServing ? NONE_LEFT : NO_ADMINISTRATOR].join('\n')

/** Entries of administrators that a start skips, each with its place. */
export const listMalformed = (settings: Settings): readonly string[] =>
  renderMalformed(findAdministrators(settings, new Map()))

/** Checks the administrators before the store is opened and before any password is hashed. */
export function checkAdministrators(settings: Settings): string | undefined {
  const found = findAdministrators(settings, new Map())
  return found.plain.length === 0 ? findMissing(found, false) : undefined
}

const NONE_LEFT = 'No administrator would be left, so this server could not be managed.'

/**
 * Reads the settings of the store; files as they were last read. A setting this node cannot use keeps all settings,
 * but never prevents a change of administrators.
 */
export async function rebuildFromStore(
  reader: SettingsReader,
  deps: SnapshotDeps,
  before: ConfigSnapshot,
): Promise<BuiltSnapshot> {
  const first = await readLayers(reader, deps)
  const isDone = first.reading.problems.length > 0 || !(await createCookieSecret(first, deps).catch(toIsConflict))
  const second = isDone ? first : await readLayers(reader, deps)
  const problems = findProblems(second, deps)
  const isNoted = problems.length === 0 && (await noteTimeouts(second, deps, before))
  const seen = isNoted ? await readLayers(reader, deps) : second
  const { admins, deletedAdmins } = seen.reading.settings
  const settings =
    problems.length === 0 ? seen.reading.settings : createSettings({ ...before.configured, admins, deletedAdmins })
  for (const warning of seen.reading.warnings) if (!before.warnings.includes(warning)) deps.log.warn(warning)
  const hashes = await shareHashes(seen, before.fileHashes, deps)
  return { ...toSnapshot(seen, settings, hashes, before), problems }
}

function findProblems(
  { reading: { settings, problems } }: LayersReading,
  { checkSecrets }: SnapshotDeps,
): readonly string[] {
  if (problems.length > 0) return problems.map(renderProblem)
  const shared = checkSecrets(settings)
  return shared === undefined ? [] : [shared]
}

/** If another node has hashed the same plain text meanwhile, its hash is used. */
const shareHashes = (
  { reading, ...seen }: LayersReading,
  hashes: FileHashes,
  { hasher }: SnapshotDeps,
): Promise<FileHashes> => findHashes(reading.settings.admins, { ...seen, before: hashes }, hasher)

async function readLayers(reader: SettingsReader, { runtime }: SnapshotDeps): Promise<LayersReading> {
  const { entries, ...rest } = await runtime.read()
  return { reading: reader(entries), entries, ...rest }
}

async function readValid(reader: SettingsReader, deps: SnapshotDeps): Promise<LayersReading> {
  const seen = await readLayers(reader, deps)
  const { problems } = seen.reading
  if (problems.length > 0) throw new ConfigError(problems, findCauses(reader, seen.entries, problems.length))
  return seen
}

/** The settings of the store without which there are fewer problems. Administrators have commands of their own. */
const findCauses = (reader: SettingsReader, entries: readonly RuntimeEntry[], problems: number): readonly string[] =>
  entries
    .filter(({ section }) => section !== ADMINS)
    .filter((entry) => reader(entries.filter((each) => each !== entry)).problems.length < problems)
    .map(({ section, key }) => `${section}.${key}`)

const MAX_ATTEMPTS = 10

/** Several nodes may start at once. On a conflict, the values the other node created are used. */
async function createMissingWithRetry(reader: SettingsReader, deps: SnapshotDeps, before: ConfigSnapshot | undefined) {
  for (let attempts = 1; ; attempts += 1) {
    const seen = await readValid(reader, deps)
    try {
      return { seen, ...(await createMissing(seen, deps, before)) }
    } catch (error) {
      toIsConflict(error)
      if (attempts >= MAX_ATTEMPTS) throw error
    }
  }
}

/** Another node has created the value at the same moment. Throws any other error. */
function toIsConflict(error: unknown): true {
  if (error instanceof Refusal && error.code === 'conflict') return true
  throw error
}

async function createMissing(seen: LayersReading, deps: SnapshotDeps, before: ConfigSnapshot | undefined) {
  const { runtime } = deps
  const { settings } = seen.reading
  const needsUuid = before === undefined && settings.values.couchdb.uuid === ''
  if (needsUuid) await runtime.set('couchdb', 'uuid', randomBytes(16).toString('hex'), seen.position)
  const isSecretCreated = await createCookieSecret(seen, deps)
  const isKeyCreated = seen.ownKey === undefined
  if (isKeyCreated) await runtime.setOwnKey(randomBytes(32).toString('hex'), seen.position)
  const isTimeoutNoted = await noteTimeouts(seen, deps, before)
  const { hashes, isWritten } = await hashAdministrators(settings, seen, deps)
  return { hashes, isWritten: isWritten || needsUuid || isSecretCreated || isKeyCreated || isTimeoutNoted }
}

/**
 * Keeps the timeouts of cookies for later starts, if this node has others than before. Nodes whose files differ do not
 * write again what the other one has written.
 */
async function noteTimeouts(
  { reading, timeouts }: LayersReading,
  { runtime }: SnapshotDeps,
  before: ConfigSnapshot | undefined,
): Promise<boolean> {
  const { values } = reading.settings
  if (isKept(timeouts, values, before?.settings.values)) return false
  await runtime.setTimeouts(timeouts, values)
  return true
}

/** Creates a cookie secret for all nodes, unless one is configured. */
async function createCookieSecret(
  { reading: { settings }, position }: LayersReading,
  { runtime, ownSecret }: SnapshotDeps,
): Promise<boolean> {
  const { source } = settings.find('chttpd_auth', 'secret') ?? {}
  const isPinned = source?.kind === 'environment' || source?.kind === 'flag'
  if (isPinned || settings.values.chttpd_auth.secret !== '') return false
  // if it was unset for this server only, the other nodes keep theirs
  const isVolatile = (await runtime.volatile.list()).some(
    ({ section, key }) => section === 'chttpd_auth' && key === 'secret',
  )
  if (isVolatile) await runtime.volatile.set('chttpd_auth', 'secret', ownSecret)
  else await runtime.set('chttpd_auth', 'secret', randomBytes(32).toString('hex'), position)
  return true
}

function toSnapshot(
  seen: LayersReading,
  fresh: Settings,
  hashes: FileHashes,
  before: ConfigSnapshot | undefined,
): BuiltSnapshot {
  const { reading, changes, position } = seen
  // created at the start, and kept if the store loses it
  const ownKey = seen.ownKey === undefined ? (before?.ownKey ?? randomBytes(32)) : Buffer.from(seen.ownKey, 'hex')
  const compared = before ? compareSettings(before.settings, fresh) : { settings: fresh, applied: [], needRestart: [] }
  const { settings, applied, needRestart } = compared
  const { accounts } = findAdministrators(settings, changes, hashes)
  const next = {
    settings,
    configured: fresh,
    warnings: reading.warnings,
    administrators: accounts,
    administratorChanges: changes,
    fileHashes: hashes,
    ownKey,
    position,
    dropsEarlierSecrets: isDroppedFor(settings.values.chttpd_auth.secret, seen),
    timeouts: seen.timeouts,
  }
  return { next, problems: [], changed: applied, needRestart }
}
