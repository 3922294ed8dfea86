// Changes options at run time, and lists them as the console shows them, with what a change would do.
import { Refusal } from '../base/errors.ts'
import type { Codec } from '../config/codecs.ts'
import { describeSettings, toShownText } from '../config/describe.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { Source } from '../config/options.ts'
import { findValue, isConcealed, MASK, type OptionRow } from '../config/options.ts'
import { DEFAULT, renderSource, type Settings } from '../config/settings.ts'
import type { Caller } from '../directory/caller.ts'
import type { Position } from '../directory/store-port/changes.ts'
import type { LiveConfig } from './live-config.ts'
import {
  type ChangeMode,
  type CheckStored,
  createSettingsService,
  findChangeProblem,
  findIn,
  type SetEntry,
} from './settings-service.ts'
import type { ConfigSnapshot } from './snapshot.ts'

/** The configured text, without secrets. */
export const showConfigured = (configured: Settings, section: string, key: string): string =>
  toShownText(configured.table, { section, key, text: configured.find(section, key)?.text ?? '' })

/** The settings for commands and the console, which show what a change did. */
export function createSettingsEditor(liveConfig: LiveConfig, checkStored?: CheckStored) {
  const service = createSettingsService(liveConfig, checkStored)
  const change = async (section: string, key: string, work: () => Promise<string>) => {
    const earlierWarnings = liveConfig.get().warnings
    const wasStored = (await findIn(liveConfig.runtime, section, key)) !== undefined
    const previous = await work()
    const { configured, warnings } = liveConfig.get()
    return {
      name: `${section}.${key}`,
      previous,
      value: showConfigured(configured, section, key),
      undo: wasStored ? toUndo(previous) : ('unset' as const),
      needsRestart: configured.table.find(section, key)?.option.reload === 'restart',
      warnings: warnings.filter((warning) => !earlierWarnings.includes(warning)),
    }
  }
  return {
    listOptions: () => listOptions(liveConfig),
    preview: (change: RuntimeEntry, caller: Caller) => previewChange(liveConfig, change, caller, checkStored),
    list: () => describeSettings(liveConfig.get().configured),
    listStored: () => listStored(liveConfig),
    set(
      setting: SetEntry,
      caller: Caller,
      { expected, ...options }: ChangeMode & { readonly expected?: string | undefined },
    ) {
      const write = (mode: ChangeMode) => change(setting.section, setting.key, () => service.set(setting, caller, mode))
      if (expected === undefined) return write(options)
      const writeAfter = (unchangedSince: Position) => write({ ...options, unchangedSince })
      return writeExpected(liveConfig, { ...setting, text: expected }, writeAfter)
    },
    unset: (section: string, key: string, caller: Caller) =>
      change(section, key, () => service.unset(section, key, caller, { isStrict: true })),
  }
}

const MAX_ATTEMPTS = 10

/**
 * Writes only while the option has the expected value. The store refuses to write if an option of the section was set
 * after the comparison, on any node; then the value is compared again.
 */
async function writeExpected<T>(
  liveConfig: LiveConfig,
  expected: SetEntry,
  write: (unchangedSince: Position) => Promise<T>,
): Promise<T> {
  const before = await readExpected(liveConfig, expected)
  let { position } = before
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await write(position)
    } catch (error) {
      if (!isConflict(error) || attempts >= MAX_ATTEMPTS) throw error
      const now = await readExpected(liveConfig, expected)
      // two secrets are shown alike
      if (now.text !== before.text) throw error
      position = now.position
    }
  }
}

/** Throws `conflict` if the option has another value in the store. */
async function readExpected(liveConfig: LiveConfig, { section, key, text: expected }: SetEntry) {
  await liveConfig.refresh()
  const { configured, position } = liveConfig.get()
  const value = showConfigured(configured, section, key)
  if (value !== expected)
    throw new Refusal('conflict', { reason: `${section}.${key} was changed to "${value}" in the meantime.` })
  return { text: configured.find(section, key)?.text, position }
}

const isConflict = (error: unknown): boolean => error instanceof Refusal && error.code === 'conflict'

/** How to return to the value before: set it again, or remove the new one. `null`: a secret, which is not shown. */
const toUndo = (previous: string): 'set' | null => (previous === MASK ? null : 'set')

/** Administrators have operations of their own. */
async function listStored({ runtime, get }: LiveConfig) {
  const { table } = get().configured
  const entries = await runtime.list()
  return entries.flatMap(({ section, key, text }) =>
    section === 'admins' || text === undefined
      ? []
      : [{ section, key, text, isSecret: toShownText(table, { section, key, text }) !== text }],
  )
}

/** Both lists in the order of the table. */
export async function listOptions(liveConfig: LiveConfig) {
  const { settings } = await liveConfig.kernel.store.listSettings()
  // when those made at run time were made
  const changes = new Map(settings.map(({ section, key, changedAt }) => [`${section}.${key}`, changedAt]))
  const snapshot = liveConfig.get()
  const { table } = snapshot.configured
  return {
    sections: [...table.sections].map(([name, help]) => ({ name, help })),
    options: table.rows.map((row) => showOption(row, snapshot, changes.get(row.name))),
  }
}

function showOption(row: OptionRow, { configured, settings }: ConfigSnapshot, changedAt: number | undefined) {
  const { option, section, key, name } = row
  const source = configured.find(section, key)?.source ?? DEFAULT
  return {
    name,
    section,
    key,
    help: option.help,
    ...(option.more !== undefined && { details: option.more }),
    expects: option.codec.expects,
    type: toType(option.codec),
    ...(option.codec.words && { choices: option.codec.words }),
    default: showText(row, option.codec.print(option.initial)),
    value: showValue(row, configured),
    source: { kind: source.kind, text: renderSource(source) },
    ...(source.kind === 'run time' && changedAt !== undefined && { changedAt }),
    isSecret: option.secret ?? false,
    effect: option.reload,
    ...(isWaiting(row, configured, settings) && { running: showValue(row, settings) }),
    ...toFixed(row, source),
  }
}

const toPrinted = (row: OptionRow, settings: Settings): string =>
  row.option.codec.print(findValue(settings.values, row))

const showValue = (row: OptionRow, settings: Settings): string => showText(row, toPrinted(row, settings))

const showText = ({ option }: OptionRow, text: string): string => (isConcealed(option, text) ? MASK : text)

function toType({ isBoolean, isList, words }: Codec<unknown>): 'boolean' | 'list' | 'choice' | 'text' {
  if (isBoolean) return 'boolean'
  if (isList) return 'list'
  return words ? 'choice' : 'text'
}

/** Compares the real values: two secrets have the same mask. */
const isWaiting = (row: OptionRow, configured: Settings, running: Settings): boolean =>
  toPrinted(row, configured) !== toPrinted(row, running)

/** Why the option cannot be changed at run time, as a clause after "because"; absent: it can. */
function toFixed({ option }: OptionRow, source: Source): { readonly fixed?: string } {
  if (option.fixed !== undefined) return { fixed: option.fixed }
  if (source.kind !== 'environment' && source.kind !== 'flag') return {}
  return { fixed: `${renderSource(source)} sets it and has precedence over run-time settings` }
}

/** Checks a change as the change itself would, and describes it, without making it. */
async function previewChange(liveConfig: LiveConfig, change: RuntimeEntry, caller: Caller, checkStored?: CheckStored) {
  const { section, key, text } = change
  const { configured } = liveConfig.get()
  const row = configured.table.find(section, key)
  const problem = await findChangeProblem(liveConfig, change, caller, checkStored)
  return {
    name: `${section}.${key}`,
    current: showConfigured(configured, section, key),
    value: text === undefined ? null : toShownText(configured.table, { section, key, text }),
    problems: problem === undefined ? [] : [problem],
    effects: problem === undefined ? describeEffects(change, row, configured) : [],
    needsRestart: row?.option.reload === 'restart',
  }
}

function describeEffects({ text }: RuntimeEntry, row: OptionRow | undefined, configured: Settings): string[] {
  if (!row) return ['Cardea does not use this option: nothing changes.']
  const next = text === undefined ? undefined : row.option.codec.parse(text)
  const isSame = next !== undefined && row.option.codec.print(next) === toPrinted(row, configured)
  if (isSame) return ['This is the value already: nothing changes.']
  const warning = next === undefined ? undefined : row.option.codec.warn?.(next)
  return [
    ...(text === undefined ? ['The value of files or the default applies again.'] : []),
    WHEN[row.option.reload],
    ...(EFFECTS.get(row.name) ?? []),
    ...(warning === undefined ? [] : [`Warning: ${warning}.`]),
  ]
}

const WHEN = {
  live: 'Every node applies it within a second.',
  restart: 'It is stored for every node, and each applies it at its next start.',
} as const

/** What users notice, where the help of the option does not say it. */
const EFFECTS: ReadonlyMap<OptionRow['name'], readonly string[]> = new Map<OptionRow['name'], readonly string[]>([
  [
    'chttpd_auth.secret',
    [
      'Cookies signed with the current secret are accepted for one more chttpd_auth.timeout, at most an hour.',
      'Proxies that sign with the current secret are rejected until they have the new one.',
    ],
  ],
  ['chttpd_auth.timeout', ['Sessions of the document door get the new timeout with their next request.']],
  ['chttpd.authentication_handlers', ['Sessions and tokens of a handler that is no longer listed are rejected.']],
  ['chttpd.require_valid_user', ['With true, anonymous requests to the document door are rejected.']],
  ['admin.session-timeout', ['Sessions of the console get the new timeout with their next request.']],
  ['admin.user-admin-role', ['Users with the new role can manage users; those with the old one no longer can.']],
  [
    'console.public-url',
    [
      'Links in messages and links to set a password begin with it, and browsers that sign in at another server return to it.',
      'Its pages may sign users in with passkeys, which are made for its host.',
    ],
  ],
  ['chttpd_auth_lockout.mode', ['With enforce, accounts with too many failures are locked at once.']],
])
