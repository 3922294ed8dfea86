import { Refusal } from '../base/errors.ts'
import { describeSettings, toShownText } from '../config/describe.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import { findOption, MASK } from '../config/options.ts'
import type { LiveConfig } from './live-config.ts'
import { listOptions, previewChange } from './option-list.ts'
import { type ChangeOptions, createSettingsService, type SetEntry } from './settings-service.ts'

/** The settings for commands and the console, which show what a change did. */
export function createSettingsEditor(liveConfig: LiveConfig) {
  const service = createSettingsService(liveConfig)
  const change = async (section: string, key: string, work: () => Promise<string>) => {
    const earlierWarnings = liveConfig.get().warnings
    const wasStored = await isStored(liveConfig, section, key)
    const previous = await work()
    const { configured, warnings } = liveConfig.get()
    return {
      name: `${section}.${key}`,
      previous,
      value: toShownText({ section, key, text: configured.find(section, key)?.text ?? '' }),
      undo: wasStored ? toUndo(previous) : ('unset' as const),
      needsRestart: findOption(section, key)?.option.reload === 'restart',
      warnings: warnings.filter((warning) => !earlierWarnings.includes(warning)),
    }
  }
  return {
    listOptions: () => listOptions(liveConfig),
    preview: (change: RuntimeEntry) => previewChange(liveConfig, change),
    list: () => describeSettings(liveConfig.get().configured),
    listStored: () => listStored(liveConfig),
    async set(setting: SetEntry, { expected, ...options }: ChangeOptions & { readonly expected?: string | undefined }) {
      requireExpected(liveConfig, setting, expected)
      return change(setting.section, setting.key, () => service.set(setting, options))
    },
    unset: (section: string, key: string) =>
      change(section, key, () => service.unset(section, key, { isStrict: true })),
  }
}

function requireExpected(liveConfig: LiveConfig, { section, key }: SetEntry, expected: string | undefined): void {
  const value = toShownText({ section, key, text: liveConfig.get().configured.find(section, key)?.text ?? '' })
  if (expected !== undefined && value !== expected)
    throw new Refusal('conflict', { reason: `${section}.${key} was changed to "${value}" in the meantime.` })
}

/** How to return to the value before: set it again, or remove the new one. `null`: a secret, which is not shown. */
const toUndo = (previous: string): 'set' | null => (previous === MASK ? null : 'set')

const isStored = async ({ runtime }: LiveConfig, section: string, key: string): Promise<boolean> =>
  (await runtime.list()).some((entry) => entry.section === section && entry.key === key)

/** Administrators have operations of their own. */
async function listStored({ runtime }: LiveConfig) {
  const entries = await runtime.list()
  return entries.flatMap(({ section, key, text }) =>
    section === 'admins' || text === undefined
      ? []
      : [{ section, key, text, isSecret: toShownText({ section, key, text }) !== text }],
  )
}
