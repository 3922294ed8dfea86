export interface SettingsEditor {
  /** Every option of the table. */
  listOptions(): Promise<OptionList>
  /** What a change would do. Changes nothing. */
  preview(change: Omit<NewSetting, 'text'> & { readonly text: string | undefined }): SettingPreview
  /** All current settings, including defaults. */
  list(): readonly ShownSetting[]
  /** Resolves when the setting is in effect or waits for a restart. Throws a `Refusal` if it cannot be set. */
  set(setting: NewSetting, options: SetOptions): Promise<SettingChange>
  /** Settings made at run time, in clear. */
  listStored(): Promise<readonly StoredSetting[]>
  /** Removes the stored value, so that files, environment and defaults apply again. */
  unset(section: string, key: string): Promise<SettingChange>
}

export interface NewSetting {
  readonly section: string
  readonly key: string
  readonly text: string
}

export interface SetOptions {
  /** For the cookie secret: cookies signed with earlier secrets are rejected at once. */
  readonly isImmediate: boolean
}

export interface SettingChange {
  readonly name: string
  /** Secrets are masked; empty: there was none. */
  readonly previous: string
  readonly value: string
  /** How to undo the change: set `previous`, or remove the new value. `null`: `previous` is a masked secret. */
  readonly undo: 'set' | 'unset' | null
  readonly needsRestart: boolean
  /** Warnings about the new value. */
  readonly warnings: readonly string[]
}

export interface StoredSetting extends NewSetting {
  readonly isSecret: boolean
}

/** One setting in replies; secrets are masked. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly source: string
  readonly isDefault: boolean
  readonly note?: string
}

export interface OptionList {
  readonly sections: readonly { readonly name: string; readonly help: string }[]
  readonly options: readonly ShownOption[]
}

/** An option of the table. */
export interface ShownOption {
  readonly name: string
  readonly section: string
  readonly key: string
  readonly help: string
  readonly details?: string
  /** What is accepted, in words. */
  readonly expects: string
  readonly type: 'boolean' | 'list' | 'choice' | 'text'
  readonly choices?: readonly string[]
  readonly default: string
  /** The configured value; secrets are masked. */
  readonly value: string
  readonly source: { readonly kind: string; readonly text: string }
  /** When it was set at run time, in seconds since the epoch. */
  readonly changedAt?: number
  readonly isSecret: boolean
  readonly effect: 'live' | 'restart'
  /** The value in use, where the configured one waits for a restart. */
  readonly running?: string
  /** Why it cannot be changed at run time, as a clause after "because"; absent: it can. */
  readonly fixed?: string
}

export interface SettingPreview {
  readonly name: string
  /** Secrets are masked, also in `value`. */
  readonly current: string
  /** `null`: the value made at run time is removed. */
  readonly value: string | null
  /** Why the change would be refused; empty: it would be made. */
  readonly problems: readonly string[]
  /** What the change does, in sentences. */
  readonly effects: readonly string[]
  readonly needsRestart: boolean
}
