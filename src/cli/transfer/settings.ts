import { type Control, ControlFailure } from '../client.ts'
import type { ImportRules, Outcome } from './import-summary.ts'

export interface ImportedSetting {
  readonly section: string
  readonly key: string
  readonly text: string
}

/** Imports run-time settings one by one. Each is checked as `cardea config set` checks it. */
export function createSettingImport(
  control: Control,
  { replaces, isTrial }: ImportRules,
): (setting: ImportedSetting) => Promise<Outcome> {
  let known: Promise<ReadonlyMap<string, string | undefined>> | undefined
  return async (setting) => {
    known ??= loadKnown(control)
    const { section, key, text } = setting
    const id = idOf(setting)
    const isNew = !(await known).has(id)
    if (!isNew && (!replaces || (await known).get(id) === text)) return { kind: 'kept' }
    const kind = isNew ? 'created' : 'replaced'
    if (isTrial) return { kind }
    try {
      await control.call('setting.set', { params: { section, key }, body: { value: text } })
      return { kind }
    } catch (error) {
      if (!(error instanceof ControlFailure)) throw error
      return { kind: 'refused', reason: error.message }
    }
  }
}

const idOf = ({ section, key }: Pick<ImportedSetting, 'section' | 'key'>): string => JSON.stringify([section, key])

async function loadKnown(control: Control): Promise<ReadonlyMap<string, string | undefined>> {
  const { settings } = await control.call('transfer.settings')
  return new Map(settings.map((setting) => [idOf(setting), setting.text]))
}
