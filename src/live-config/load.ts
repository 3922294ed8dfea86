// Reads the configuration: files, environment and flags, with or without the settings in the store.
import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type LoadInput, openSettings, type SettingsReader } from '../config/load.ts'
import type { Rule } from '../config/options.ts'
import { type Problem, renderProblem } from '../config/problems.ts'
import type { ConfigReading } from '../config/read.ts'
import { renderSource, type Settings } from '../config/settings.ts'
import { reasonOf, StartError } from '../kernel/start-error.ts'
import { maxIterationsOf } from '../passwords/hash-policy.ts'
import { hasKnownPasswords } from '../passwords/known-passwords.ts'
import { checkPasswordFile } from '../passwords/password-file.ts'
import { listQuickProblems, readPasswordRules } from '../passwords/password-rules.ts'
import { readAdminPassword } from '../passwords/schemes.ts'
import { loadStoredSettings } from '../store/backup/engines.ts'
import { findStoreFile } from '../store/store-url.ts'
import { toPasswordRules } from './password-settings.ts'
import { toEntries } from './stored-layer.ts'

/** Every failed sign-in takes as long as the most expensive hash, and no hash above the limit is ever verified. */
const limitIterations = (key: 'iterations' | 'min_iterations'): Rule => ({
  about: [`chttpd_auth.${key}`, 'chttpd_auth.pbkdf2_prf'],
  kind: 'bad-value',
  check: ({ values: { chttpd_auth: auth } }) => {
    const [prf, most] = [auth.pbkdf2_prf, maxIterationsOf(auth.pbkdf2_prf)]
    return auth[key] > most
      ? `[chttpd_auth] ${key}: ${auth[key]} iterations of PBKDF2 with ${prf} cost too much to verify: the limit is ${most}`
      : undefined
  },
})

/** Rules for options that only the folder which uses them can check. */
const USER_RULES: readonly Rule[] = [
  {
    about: ['chttpd_auth.password_regexp'],
    kind: 'bad-value',
    check: ({ values }) => {
      const reading = readPasswordRules(values.chttpd_auth.password_regexp)
      return reading.kind === 'problem' ? `[chttpd_auth] password_regexp: ${reading.message}` : undefined
    },
  },
  {
    about: ['auth.password-file'],
    kind: 'bad-value',
    check: ({ values: { auth } }) => {
      const file = auth['password-file']
      const problem = file === '' ? undefined : checkPasswordFile(file)
      return problem === undefined ? undefined : `auth.password-file: ${problem}`
    },
  },
  {
    about: ['auth.password-check'],
    kind: 'bad-value',
    check: ({ values: { auth } }) =>
      auth['password-check'] === 'on' && !hasKnownPasswords()
        ? 'auth.password-check: the list etc/known-passwords.txt of the package is missing'
        : undefined,
  },
  {
    about: ['auth.password-file', 'auth.password-check'],
    kind: 'warning',
    check: ({ values: { auth } }) =>
      auth['password-file'] !== '' && auth['password-check'] === 'off'
        ? 'auth.password-file is ignored, because auth.password-check is off'
        : undefined,
  },
  limitIterations('iterations'),
  limitIterations('min_iterations'),
]

type Input = Omit<LoadInput, 'rules'>

/** All problems of the configuration. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError'
  readonly problems: readonly Problem[]
  /** The names of settings in the store that cause them. */
  readonly stored: readonly string[]
  constructor(problems: readonly Problem[], stored: readonly string[] = []) {
    super([...problems.map(renderProblem), ...stored.map(renderRemedy)].join('\n'))
    this.problems = problems
    this.stored = stored
  }
}

const renderRemedy = (name: string): string => `To remove this value from the store: cardea config unset ${name}`

/** Reads the files once. The reader it returns combines them with the settings of the store, any number of times. */
export const openConfiguration = (input: Input): SettingsReader => openSettings({ ...input, rules: USER_RULES })

/** For a program: administrators among its options must have passwords that conform to the rules. */
export function openProgramConfiguration(input: Input): SettingsReader {
  const read = openConfiguration(input)
  return (stored) => {
    const reading = read(stored)
    // the rules are read from values that were accepted
    return reading.problems.length > 0 ? reading : { ...reading, problems: checkGivenPasswords(reading.settings) }
  }
}

/** Passwords in files and variables are hashed with a warning: a server must start that others have configured. */
function checkGivenPasswords({ admins, values }: Settings): readonly Problem[] {
  const rules = toPasswordRules(values)
  return admins.flatMap(({ name, text, source }): Problem[] => {
    const isGiven = source.kind === 'flag' && readAdminPassword(text).kind === 'plain'
    const [broken] = isGiven ? listQuickProblems(rules, text, [name]) : []
    if (broken === undefined) return []
    const message = `the password of the administrator ${name} breaks a rule for passwords: ${broken}`
    return [{ kind: 'bad-value', place: renderSource(source), message }]
  })
}

/** The configuration without the settings in the store. */
export const loadConfiguration = (input: Input): ConfigReading => openConfiguration(input)([])

export interface StoredReading extends ConfigReading {
  /** Whether the settings of the store are included. */
  readonly isStoreRead: boolean
  /** Why they are not. */
  readonly storeProblem?: string
}

/** The configuration a server would start with. The store is only read, so a server may be using it. */
export async function loadStoredConfiguration(input: Input): Promise<StoredReading> {
  const read = openConfiguration(input)
  const withoutStore = { ...read([]), isStoreRead: false }
  if (withoutStore.problems.length > 0) return withoutStore
  try {
    const { url } = withoutStore.settings.values.store
    const stored = mayStoreExist(url) ? toEntries(await loadStoredSettings(url)) : []
    return { ...read(stored), isStoreRead: true }
  } catch (error) {
    const storeProblem = reasonOf(error)
    const warning = `settings in the store could not be read: ${storeProblem}`
    return { ...withoutStore, warnings: [...withoutStore.warnings, warning], storeProblem }
  }
}

/** A store is not created in a configured folder that does not exist: its name is probably misspelt. */
export function checkStoreFolder(settings: Settings): readonly Problem[] {
  const file = findStoreFile(settings.values.store.url)
  const source = settings.find('store', 'url')?.source
  if (file === undefined || source === undefined || source.kind === 'default' || existsSync(dirname(file))) return []
  const message = `[store] url: there is no folder ${dirname(file)}; create it first`
  return [{ kind: 'bad-file', place: renderSource(source), message }]
}

/** Whether the store may hold something. A database server is not asked. */
export function mayStoreExist(url: string): boolean {
  const file = findStoreFile(url)
  return file === undefined ? !url.startsWith('sqlite:') : existsSync(file)
}

/** The folder of the first configuration file or folder. */
export function findConfigFolder({ flags, env, cwd }: Omit<Input, 'table'>): string | undefined {
  const [first] = flags.configs.length > 0 ? flags.configs : (env['CARDEA_CONFIG'] ?? '').split(':')
  if (!first) return undefined
  const path = resolve(cwd, first)
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path)
}
