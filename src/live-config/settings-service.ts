import { type ErrorCode, Refusal } from '../base/errors.ts'
import { type ChangeProblem, checkChange } from '../config/change.ts'
import { toShownText } from '../config/describe.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import { findOption } from '../config/options.ts'
import { withSuggestion } from '../config/problems.ts'
import type { LiveConfig, ReloadReport } from './live-config.ts'
import { recordOptionChanges } from './option-events.ts'
import type { RuntimeLayer } from './runtime-layer.ts'
import { noteDrop } from './stored-layer.ts'

export interface ChangeOptions {
  /** For this process only, until it ends or reloads its configuration. */
  readonly isVolatile?: boolean
  /** Of the cookie secret: what was made with earlier ones is refused at once, on every node. */
  readonly isImmediate?: boolean
  /** To unset what was not set at run time is `option_not_found`, whatever the layers below say. */
  readonly isStrict?: boolean
}

/**
 * Changes the configuration of a running server. When a call returns, the change is applied or waits for a restart.
 * Returned values are the configured ones, with secrets masked.
 */
export interface SettingsService {
  /** By section, then key: what was set, in files, at run time, in the environment or by flags. */
  list(): Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Gives what was there before, as it may be shown; `''` for nothing. */
  set(section: string, key: string, text: string, options?: ChangeOptions): Promise<string>
  /** Back to the layers below. Throws `option_not_found` where nothing is set. */
  unset(section: string, key: string, options?: ChangeOptions): Promise<string>
  /** Reloads all layers. */
  reload(): Promise<void>
}

export function createSettingsService(liveConfig: LiveConfig): SettingsService {
  const shown = (section: string, key: string): string | undefined => {
    const { entries } = liveConfig.get().configured
    const entry = entries.find((candidate) => candidate.section === section && candidate.key === key)
    return entry && toShownText(entry)
  }
  const check = (section: string, key: string, text: string | undefined) => {
    const { configured } = liveConfig.get()
    const rules = [...configured.rules, { about: ['chttpd_auth.secret'], check: liveConfig.secrets.check } as const]
    const problem = checkChange({ ...configured, rules }, section, key, text)
    if (problem) throw toRefusal(problem)
  }
  const layer = ({ isVolatile = false }: ChangeOptions = {}) =>
    isVolatile ? liveConfig.runtime.volatile : liveConfig.runtime
  /** What cannot be applied is taken back: left in the store, it would keep every node from its next start. */
  const change = async (into: RuntimeLayer, section: string, key: string, text: string | undefined) => {
    const before = await findIn(into, section, key)
    const { configured } = liveConfig.get()
    await put(into, section, key, text)
    const report = await liveConfig.refresh()
    if (report.isApplied) {
      const name = findOption(section, key)?.name ?? `${section}.${key}`
      recordOptionChanges(liveConfig.events, [name], configured, liveConfig.get().configured)
      return
    }
    await (before ? put(into, section, key, before.text) : into.forget(section, key))
    await liveConfig.refresh()
    requireApplied(report)
  }

  return {
    list: () => listShown(liveConfig),
    async set(section, key, text, options) {
      check(section, key, text)
      const before = shown(section, key) ?? ''
      if (options?.isImmediate) await dropEarlier(layer(options), section, key, text)
      await change(layer(options), section, key, text)
      return before
    },
    async unset(section, key, options) {
      check(section, key, undefined)
      const before = shown(section, key)
      const isThere = !options?.isStrict || (await findIn(layer(options), section, key)) !== undefined
      if (before === undefined || !isThere) throw new Refusal('option_not_found')
      await change(layer(options), section, key, undefined)
      return before
    },
    async reload() {
      requireApplied(await liveConfig.reload())
    },
  }
}

function dropEarlier(into: RuntimeLayer, section: string, key: string, text: string): Promise<void> {
  if (section === 'chttpd_auth' && key === 'secret') return noteDrop(into, text)
  throw new Refusal('option_refused', { about: 'Only chttpd_auth.secret can be replaced with immediate effect' })
}

const findIn = async (into: RuntimeLayer, section: string, key: string): Promise<RuntimeEntry | undefined> =>
  (await into.list()).find((entry) => entry.section === section && entry.key === key)

const put = (into: RuntimeLayer, section: string, key: string, text: string | undefined): Promise<void> =>
  text === undefined ? into.unset(section, key) : into.set(section, key, text)

function listShown(liveConfig: LiveConfig): Record<string, Record<string, string>> {
  const sections: Record<string, Record<string, string>> = Object.create(null)
  for (const entry of liveConfig.get().configured.entries) {
    const section = sections[entry.section] ?? Object.create(null)
    section[entry.key] = toShownText(entry)
    sections[entry.section] = section
  }
  return sections
}

function requireApplied({ isApplied, problems }: ReloadReport): void {
  if (!isApplied)
    throw new Refusal('bad_request', { about: `The configuration was not applied. ${problems.join(' ')}` })
}

function toRefusal({ kind, message, nearest }: ChangeProblem): Refusal {
  return new Refusal(CODES[kind], { about: withSuggestion(message, nearest) })
}

const CODES: Readonly<Record<ChangeProblem['kind'], ErrorCode>> = {
  'invalid-section': 'bad_request',
  'invalid-key': 'bad_request',
  'invalid-value': 'option_refused',
  'unknown-option': 'option_unknown',
  'bad-value': 'option_refused',
  conflict: 'option_refused',
  masked: 'option_refused',
  pinned: 'option_refused',
  'not-settable': 'forbidden',
}
