// Works out what is to be in force, from files, environment, flags and what the store holds.
import { randomBytes } from 'node:crypto'
import type { Log } from '../base/log.ts'
import { compareSettings } from '../config/compare.ts'
import type { SettingsReader } from '../config/load.ts'
import { renderProblem } from '../config/problems.ts'
import type { Reading } from '../config/read.ts'
import { createSettings, renderSource, type Settings } from '../config/settings.ts'
import type { AdministratorAccount, AdministratorChanges } from '../identity/administrators.ts'
import type { Hasher } from '../identity/password/hasher.ts'
import { findAdministrators, hashAdministrators, reportMalformed } from './administrators.ts'
import { toHashParameters, toPasswordRules } from './options.ts'
import type { StoredLayer } from './runtime.ts'
import { ConfigError, StartError } from './start-error.ts'

/** Settings and administrators, as of one moment. */
export interface InForce {
  readonly settings: Settings
  /** All layers as they were read last: the options that wait for a restart as they will be then. */
  readonly configured: Settings
  /** What was to be said of them. */
  readonly warnings: readonly string[]
  readonly administrators: ReadonlyMap<string, AdministratorAccount>
  readonly administratorChanges: AdministratorChanges
  /** The change up to which the run-time layer is known. */
  readonly sequence: number
}

export interface Prepared {
  readonly next: InForce
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  readonly needRestart: readonly string[]
}

export interface PrepareNeeds {
  readonly runtime: StoredLayer
  readonly hasher: Hasher
  readonly log: Log
  readonly mayLackAdministrator: boolean
}

interface Seen {
  readonly reading: Reading
  readonly changes: AdministratorChanges
  readonly sequence: number
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
  needs: PrepareNeeds,
  before: InForce | undefined,
): Promise<Prepared> {
  const first = await readSound(reader, needs)
  if (!needs.mayLackAdministrator) requireAdministrator(first.reading.settings, first.changes, before !== undefined)
  const isDone = !(await makeUp(first.reading.settings, needs, before === undefined))
  const seen = isDone ? first : await readSound(reader, needs)
  warn(seen.reading.warnings, needs.log)
  reportMalformed(findAdministrators(seen.reading.settings, seen.changes), needs.log)
  return compare(seen, seen.reading.settings, before)
}

/** Throws where nobody could manage the server, and names who might have been meant to. */
export function requireAdministrator(settings: Settings, changes: AdministratorChanges, isServing: boolean): void {
  const { accounts, plain, malformed } = findAdministrators(settings, changes)
  if (accounts.size > 0 || plain.length > 0) return
  const refused = malformed.map(
    ({ entry, reason }) => `${renderSource(entry.source)}: administrator ${entry.name} is refused: ${reason}`,
  )
  throw new StartError([...refused, isServing ? NONE_LEFT : NO_ADMINISTRATOR].join('\n'))
}

const NONE_LEFT = 'No administrator would be left, so nobody could manage this server.'

/**
 * The run-time layer anew, files as they were read. A setting this node cannot use keeps all of them as they are, but
 * never an administrator from being changed or deleted.
 */
export async function prepareRuntime(reader: SettingsReader, needs: PrepareNeeds, before: InForce): Promise<Prepared> {
  const first = await readAll(reader, needs)
  const isDone = first.reading.problems.length > 0 || !(await makeUpSecret(first.reading.settings, needs))
  const seen = isDone ? first : await readAll(reader, needs)
  const problems = seen.reading.problems.map(renderProblem)
  const { admins, deletedAdmins } = seen.reading.settings
  const settings =
    problems.length === 0 ? seen.reading.settings : createSettings({ ...before.configured, admins, deletedAdmins })
  warn(
    seen.reading.warnings.filter((warning) => !before.warnings.includes(warning)),
    needs.log,
  )
  return { ...compare(seen, settings, before), problems }
}

function warn(warnings: readonly string[], log: Log): void {
  for (const warning of warnings) log.warn(warning)
}

async function readAll(reader: SettingsReader, { runtime }: PrepareNeeds): Promise<Seen> {
  const { entries, changes, sequence } = await runtime.read()
  return { reading: reader(entries), changes, sequence }
}

async function readSound(reader: SettingsReader, needs: PrepareNeeds): Promise<Seen> {
  const seen = await readAll(reader, needs)
  if (seen.reading.problems.length > 0) throw new ConfigError(seen.reading.problems)
  return seen
}

/** Gives whether anything was written. */
async function makeUp(settings: Settings, needs: PrepareNeeds, isFirst: boolean): Promise<boolean> {
  const { runtime, hasher, log } = needs
  const { values } = settings
  const isNameless = isFirst && values.couchdb.uuid === ''
  if (isNameless) await runtime.set('couchdb', 'uuid', randomBytes(16).toString('hex'))
  const isSecretMade = await makeUpSecret(settings, needs)
  const [parameters, rules] = [toHashParameters(values), toPasswordRules(values)]
  const hashed = await hashAdministrators(settings, { runtime, hasher, parameters, rules, log })
  return isNameless || isSecretMade || hashed > 0
}

/** The secret of cookies, where nobody gave one: one for all nodes, kept until somebody does. */
async function makeUpSecret(settings: Settings, { runtime }: PrepareNeeds): Promise<boolean> {
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

function compare({ reading, changes, sequence }: Seen, fresh: Settings, before: InForce | undefined): Prepared {
  const compared = before ? compareSettings(before.settings, fresh) : { settings: fresh, applied: [], needRestart: [] }
  const { settings, applied, needRestart } = compared
  const { accounts } = findAdministrators(settings, changes)
  const administration = { administrators: accounts, administratorChanges: changes, sequence }
  const next = { settings, configured: fresh, warnings: reading.warnings, ...administration }
  return { next, problems: [], changed: applied, needRestart }
}
