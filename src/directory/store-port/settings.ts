import type { Position, WriteOutcome } from './changes.ts'

/** One entry of the run-time layer of the configuration. */
export interface Setting {
  readonly section: string
  readonly key: string
  /** `undefined`: a deleted administrator. Other deleted settings are not listed. */
  readonly text: string | undefined
  readonly changedAt: number
  readonly sequence: number
  /** The mark of the write. Empty: an earlier version has written it. */
  readonly mark: string
}

export interface SettingList {
  readonly settings: readonly Setting[]
  /** The latest change up to which this list is complete. */
  readonly position: Position
}

export interface SettingChange {
  readonly section: string
  readonly key: string
  readonly nowSeconds: number
  /** Write only if the section has not changed since this position. Omitted: write in any case. */
  readonly unchangedSince?: Position
  /** A new administrator, whose name must not differ from that of a user only in case or compatibility forms. */
  readonly isDistinct?: boolean
  /** Written in the same transaction. `unchangedSince` holds for their sections too. Without a text: removed. */
  readonly also?: readonly { readonly section: string; readonly key: string; readonly text?: string }[]
}

/** What was written, with its mark. `look-alike`: a user has nearly its name. */
export type SettingOutcome =
  | Exclude<WriteOutcome, { kind: 'written' }>
  | { readonly kind: 'look-alike' }
  | ({ readonly kind: 'written' } & Position)

export interface SettingStore {
  listSettings(): Promise<SettingList>
  setSetting(setting: SettingChange & { readonly text: string }): Promise<SettingOutcome>
  /** Removes the setting, so that the lower layers apply. An administrator stays removed even if a lower layer has it. */
  unsetSetting(setting: SettingChange): Promise<SettingOutcome>
}
