import type { WriteOutcome } from './changes.ts'

/** One entry of the run-time layer of the configuration. */
export interface Setting {
  readonly section: string
  readonly key: string
  /** `undefined`: a deleted administrator. Other deleted settings are not listed. */
  readonly text: string | undefined
  readonly changedAt: number
  readonly sequence: number
}

export interface SettingList {
  readonly settings: readonly Setting[]
  /** The sequence up to which this list is complete. */
  readonly sequence: number
}

export interface SettingChange {
  readonly section: string
  readonly key: string
  readonly nowSeconds: number
  /** Write only if the section has not changed since this sequence. Omitted: write in any case. */
  readonly unchangedSince?: number
}

export interface SettingStore {
  listSettings(): Promise<SettingList>
  setSetting(setting: SettingChange & { readonly text: string }): Promise<WriteOutcome>
  /** Removes the setting, so that the lower layers apply. An administrator stays removed even if a lower layer has it. */
  unsetSetting(setting: SettingChange): Promise<WriteOutcome>
}
