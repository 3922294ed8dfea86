// What operations need of parts that this dialect may not import.

import type { Passkeys } from '../../auth/passkey-sign-in.ts'
import type { Caller } from '../../directory/caller.ts'
import type { Identity } from '../../directory/identity.ts'
import type { NodeRecord, ServingProcess } from '../../directory/store-port/nodes.ts'
import type { ExternalAccount } from '../../directory/users/user.ts'
import type { Counts, Totals } from '../../observe/record-totals.ts'
import type { ServerError } from '../../observe/server-errors.ts'
import type { Static } from './schemas/schema.ts'
import type {
  KeyRingView,
  OptionListView,
  RELOADED,
  SettingChangeView,
  SettingPreviewView,
  SettingView,
} from './schemas/settings.ts'
import type { CertificateView, HealthView, SecretAgeView } from './schemas/system.ts'

/** What the overview and the list of nodes read. */
export interface Monitor {
  /** Identifies this start of the server. */
  readonly instance: string
  /** Seconds since the epoch. */
  readonly startedAt: number
  /** The totals of all nodes from this time on, with those of this node up to now. */
  listTotals(step: Totals['step'], from: number): Promise<readonly Totals[]>
  /** What this node has counted since its start. */
  readCounts(): Promise<Counts>
  /** The last server errors of this node since its start, the newest first. */
  listServerErrors(): Promise<readonly ServerError[]>
  listNodes(): Promise<readonly NodeRecord[]>
  /** The processes of this node that serve requests, by place. */
  listProcesses(): Promise<readonly ServingProcess[]>
  listCertificates(): readonly CertificateView[]
  listSecretAges(): readonly SecretAgeView[]
}

export interface SecretsOverview {
  list(): Promise<readonly KeyRingView[]>
  /** Reads the files of all secrets again. */
  reload(): Promise<Static<typeof RELOADED>['reloaded']>
}

/** The database behind a door. */
export interface UpstreamDatabase {
  /** Sends a request with this identity; without a method, PUT with a body, otherwise GET. Throws if the database cannot be reached. */
  askAs(
    identity: Identity,
    request: {
      readonly path: string
      readonly method?: 'POST' | 'PUT' | 'DELETE'
      readonly body?: unknown
      readonly maxBytes?: number
    },
  ): Promise<{ readonly status: number; readonly body: unknown; readonly isTooLarge?: boolean }>
}

/** Accounts at other servers that sign in as users here. */
export interface ExternalAccounts {
  /** Whether browsers can sign in with one. */
  isOpenToBrowsers(): boolean
  /** The account that an access token belongs to. Throws if the token is not accepted. */
  findAccount(token: string): Promise<Omit<ExternalAccount, 'linkedAt'>>
}

/** What only a running server has. */
export interface RunningServer {
  /** `undefined`: no database is behind the door. */
  findUpstream(door: 'document' | 'multi-model'): UpstreamDatabase | undefined
  readonly monitor: Monitor
  readonly secrets: SecretsOverview
  health(): Promise<HealthView>
  /** Returns what starts to replace all processes that serve. Throws if there is one, without a supervisor. */
  findRoll(): () => void
  readonly external: ExternalAccounts
  readonly passkeys: Passkeys
}

export interface SettingsEditor {
  /** Every option of the table. */
  listOptions(): Promise<OptionListView>
  /** What a change would do. Changes nothing. `text` is `undefined` to remove the stored value. */
  preview(
    change: Omit<NewSetting, 'text'> & { readonly text: string | undefined },
    caller: Caller,
  ): Promise<SettingPreviewView>
  /** All current settings, including defaults. */
  list(): readonly SettingView[]
  /**
   * Resolves when the setting is in effect or waits for a restart. Throws a `Refusal` if it cannot be set. With
   * `isImmediate`, cookies signed with earlier secrets are rejected at once. Throws `conflict` if the value is not the
   * expected one, and `option_refused` if the request could not be repeated after the change.
   */
  set(
    setting: NewSetting,
    caller: Caller,
    options: { readonly isImmediate: boolean; readonly expected?: string | undefined },
  ): Promise<SettingChangeView>
  /** Settings made at run time, in clear. */
  listStored(): Promise<readonly StoredSetting[]>
  /** Removes the stored value, so that files, environment and defaults apply again. */
  unset(section: string, key: string, caller: Caller): Promise<SettingChangeView>
}

interface NewSetting {
  readonly section: string
  readonly key: string
  readonly text: string
}

export interface StoredSetting extends NewSetting {
  readonly isSecret: boolean
}
