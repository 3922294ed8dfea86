// Works out what is to be in force, from files, environment, flags and what the store holds.
import { randomBytes } from 'node:crypto'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { compareSettings } from '../config/compare.ts'
import type { SettingsReader } from '../config/load.ts'
import { renderAt, renderProblem } from '../config/problems.ts'
import type { Reading } from '../config/read.ts'
import { createSettings, renderSource, type Settings } from '../config/settings.ts'
import type { AdministratorAccount, AdministratorChanges } from '../directory/administrators.ts'
import type { Hasher } from '../passwords/hasher.ts'
import {
  type FileHashes,
  findAdministrators,
  findHashes,
  type Hashed,
  hashAdministrators,
  reportMalformed,
} from './administrators.ts'
import { toHashParameters, toPasswordRules } from './password-options.ts'
import type { SharedSecrets } from './shared-secrets.ts'
import { ConfigError, StartError } from './start-error.ts'
import { isDroppedFor, type RuntimeReading, type StoredLayer } from './stored-layer.ts'

/** Settings and administrators, as of one moment. */
export interface ConfigSnapshot {
  readonly settings: Settings
  /** All layers as they were read last: the options that wait for a restart as they will be then. */
  readonly configured: Settings
  /** What was to be said of them. */
  readonly warnings: readonly string[]
  readonly administrators: ReadonlyMap<string, AdministratorAccount>
  readonly administratorChanges: AdministratorChanges
  readonly fileHashes: FileHashes
  /** Signs what no other server may sign. The same on every node. */
  readonly ownKey: Uint8Array
  /** The change up to which the run-time layer is known. */
  readonly sequence: number
  /** Whether cookies made with an earlier secret are refused at once. */
  readonly dropsEarlierSecrets: boolean
}

export interface Prepared {
  readonly next: ConfigSnapshot
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  readonly needRestart: readonly string[]
}

export interface PrepareDeps {
  readonly runtime: StoredLayer
  readonly hasher: Hasher
  readonly log: Log
  readonly mayLackAdministrator: boolean
  /** Whether secrets of these settings are used for something else. */
  readonly checkSecrets: SharedSecrets['check']
}

interface Seen extends Omit<RuntimeReading, 'entries'> {
  readonly reading: Reading
}

const NO_ADMINISTRATOR = `No administrator is configured, so nobody could manage this server: not starting.
Make one, with any of these:
  cardea init                       makes a folder with a configuration and an administrator
  cardea admin add NAME             asks for the password and keeps its hash in the store
  [admins] in a configuration file  name = password (hashed at start)
  --admins.NAME PASSWORD            or CARDEA_ADMINS__NAME in the environment`

/** Everything anew: passwords in clear are hashed, what Cardea makes up itself is made. Any problem throws. */
export async function prepareAll(
  reader: SettingsReader,
  deps: PrepareDeps,
  before: ConfigSnapshot | undefined,
): Promise<Prepared> {
  const made = await makeUpInTurn(reader, deps, before === undefined)
  const seen = made.isWritten ? await readSound(reader, deps) : made.seen
  const { settings, warnings } = seen.reading
  const hashes = await shareHashes(seen, made.hashes, deps)
  const administrators = findAdministrators(settings, seen.changes, hashes)
  if (!deps.mayLackAdministrator) requireAdministrator(administrators, before !== undefined)
  warn(warnings, deps.log)
  reportMalformed(administrators, deps.log)
  return compare(seen, { settings, hashes }, before)
}

type Administrators = ReturnType<typeof findAdministrators>

/** Throws where nobody could manage the server, and names who might have been meant to. */
function requireAdministrator({ accounts, malformed }: Administrators, isServing: boolean): void {
  if (accounts.size > 0) return
  const refused = malformed.map(({ entry, reason }) =>
    renderAt(renderSource(entry.source), `administrator ${entry.name} is refused: ${reason}`),
  )
  throw new StartError([...refused, isServing ? NONE_LEFT : NO_ADMINISTRATOR].join('\n'))
}

/** The same before there is a store, and with it before anything has been hashed. */
export function requireConfiguredAdministrator(settings: Settings): void {
  const found = findAdministrators(settings, new Map())
  if (found.plain.length === 0) requireAdministrator(found, false)
}

const NONE_LEFT = 'No administrator would be left, so nobody could manage this server.'

/**
 * The run-time layer anew, files as they were read. A setting this node cannot use keeps all of them as they are, but
 * never an administrator from being changed or deleted.
 */
export async function prepareRuntime(
  reader: SettingsReader,
  deps: PrepareDeps,
  before: ConfigSnapshot,
): Promise<Prepared> {
  const first = await readAll(reader, deps)
  const isDone = first.reading.problems.length > 0 || !(await makeUpSecret(first.reading.settings, deps))
  const seen = isDone ? first : await readAll(reader, deps)
  const problems = findProblems(seen, deps)
  const { admins, deletedAdmins } = seen.reading.settings
  const settings =
    problems.length === 0 ? seen.reading.settings : createSettings({ ...before.configured, admins, deletedAdmins })
  warn(
    seen.reading.warnings.filter((warning) => !before.warnings.includes(warning)),
    deps.log,
  )
  const hashes = await shareHashes(seen, before.fileHashes, deps)
  return { ...compare(seen, { settings, hashes }, before), problems }
}

function findProblems({ reading: { settings, problems } }: Seen, { checkSecrets }: PrepareDeps): readonly string[] {
  if (problems.length > 0) return problems.map(renderProblem)
  const shared = checkSecrets(settings)
  return shared === undefined ? [] : [shared]
}

/** Another node may have hashed the same clear text meanwhile; then its hash counts, here as there. */
const shareHashes = ({ reading, ...seen }: Seen, hashes: FileHashes, { hasher }: PrepareDeps): Promise<FileHashes> =>
  findHashes(reading.settings.admins, seen, hashes, { hasher })

function warn(warnings: readonly string[], log: Log): void {
  for (const warning of warnings) log.warn(warning)
}

async function readAll(reader: SettingsReader, { runtime }: PrepareDeps): Promise<Seen> {
  const { entries, ...rest } = await runtime.read()
  return { reading: reader(entries), ...rest }
}

async function readSound(reader: SettingsReader, deps: PrepareDeps): Promise<Seen> {
  const seen = await readAll(reader, deps)
  if (seen.reading.problems.length > 0) throw new ConfigError(seen.reading.problems)
  return seen
}

interface MadeUp extends Hashed {
  readonly seen: Seen
}

const MAX_ATTEMPTS = 10

/** Several nodes may start at once; who comes second uses what the first has made. */
async function makeUpInTurn(reader: SettingsReader, deps: PrepareDeps, isFirst: boolean): Promise<MadeUp> {
  for (let attempts = 1; ; attempts += 1) {
    const seen = await readSound(reader, deps)
    try {
      return { seen, ...(await makeUp(seen, deps, isFirst)) }
    } catch (error) {
      const isLate = error instanceof Refusal && error.code === 'conflict'
      if (!isLate || attempts >= MAX_ATTEMPTS) throw error
    }
  }
}

async function makeUp(seen: Seen, deps: PrepareDeps, isFirst: boolean): Promise<Hashed> {
  const { runtime, hasher, log } = deps
  const { settings } = seen.reading
  const { values } = settings
  const isNameless = isFirst && values.couchdb.uuid === ''
  if (isNameless) await runtime.set('couchdb', 'uuid', randomBytes(16).toString('hex'))
  const isSecretMade = await makeUpSecret(settings, deps)
  const isKeyMade = seen.ownKey === undefined
  if (isKeyMade) await runtime.setOwnKey(randomBytes(32).toString('hex'))
  const [parameters, rules] = [toHashParameters(values), toPasswordRules(values)]
  const { hashes, isWritten } = await hashAdministrators(settings, seen, { runtime, hasher, parameters, rules, log })
  return { hashes, isWritten: isWritten || isNameless || isSecretMade || isKeyMade }
}

/** The secret of cookies, where nobody gave one: one for all nodes, kept until somebody does. */
async function makeUpSecret(settings: Settings, { runtime }: PrepareDeps): Promise<boolean> {
  const { source } = settings.find('chttpd_auth', 'secret') ?? {}
  const isPinned = source?.kind === 'environment' || source?.kind === 'flag'
  if (isPinned || settings.values.chttpd_auth.secret !== '') return false
  // where it was taken away from this process alone, the others keep theirs
  const isPassing = (await runtime.volatile.list()).some(
    ({ section, key }) => section === 'chttpd_auth' && key === 'secret',
  )
  const layer = isPassing ? runtime.volatile : runtime
  await layer.set('chttpd_auth', 'secret', randomBytes(32).toString('hex'))
  return true
}

interface Fresh {
  readonly settings: Settings
  readonly hashes: FileHashes
}

function compare(seen: Seen, { settings: fresh, hashes }: Fresh, before: ConfigSnapshot | undefined): Prepared {
  const { reading, changes, sequence } = seen
  // made at the start, and kept should the store lose it
  const ownKey = seen.ownKey === undefined ? (before?.ownKey ?? randomBytes(32)) : Buffer.from(seen.ownKey, 'hex')
  const compared = before ? compareSettings(before.settings, fresh) : { settings: fresh, applied: [], needRestart: [] }
  const { settings, applied, needRestart } = compared
  const { accounts } = findAdministrators(settings, changes, hashes)
  const administration = {
    administrators: accounts,
    administratorChanges: changes,
    fileHashes: hashes,
    ownKey,
    sequence,
  }
  const dropsEarlierSecrets = isDroppedFor(settings.values.chttpd_auth.secret, seen)
  const next = { settings, configured: fresh, warnings: reading.warnings, ...administration, dropsEarlierSecrets }
  return { next, problems: [], changed: applied, needRestart }
}
