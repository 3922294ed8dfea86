// What operations need of parts that this dialect may not import.

import type { Identity } from '../../directory/identity.ts'
import type { NodeRecord } from '../../directory/store-port/nodes.ts'
import type { ExternalAccount } from '../../directory/users/user.ts'
import type { Counts, Totals } from '../../observe/record-totals.ts'
import type { ServerError } from '../../observe/server-errors.ts'
import type { Static } from './schemas/schema.ts'
import type { KeyRing, OptionList, RELOADED, Setting, SettingChange, SettingPreview } from './schemas/settings.ts'
import type { Certificate, Health, SecretAge } from './schemas/system.ts'

/** What the overview and the list of nodes read. */
export interface Monitor {
  /** Identifies this start of the process. */
  readonly instance: string
  /** The totals of all nodes from this time on, with those of this node up to now. */
  listTotals(step: Totals['step'], from: number): Promise<readonly Totals[]>
  /** What this node has counted since its start. */
  readCounts(): Counts
  /** The last server errors of this node since its start, the newest first. */
  listServerErrors(): readonly ServerError[]
  listNodes(): Promise<readonly NodeRecord[]>
  listCertificates(): readonly Certificate[]
  listSecretAges(): readonly SecretAge[]
}

export interface SecretsOverview {
  list(): Promise<readonly KeyRing[]>
  /** Reads the files of all secrets again. */
  reload(): Promise<Static<typeof RELOADED>['reloaded']>
}

/** The database behind a door. */
export interface UpstreamDatabase {
  /** Sends a request with this identity: PUT with a body, otherwise GET. Throws if the database cannot be reached. */
  askAs(
    identity: Identity,
    request: { readonly path: string; readonly body?: unknown; readonly maxBytes?: number },
  ): Promise<{ readonly status: number; readonly body: unknown }>
}

/** What only a running server has. */
export interface RunningServer {
  /** `undefined`: no database is behind the door. */
  findUpstream(door: 'document' | 'multi-model'): UpstreamDatabase | undefined
  readonly monitor: Monitor
  readonly secrets: SecretsOverview
  health(): Promise<Health>
  /** Returns what starts to replace all worker threads. Throws if the server has none. */
  findRoll(): () => void
  /** Whether browsers can sign in at an identity provider. */
  hasSignInProviders(): boolean
  /** The account at an identity provider that an access token belongs to. Throws if the token is not accepted. */
  findExternalAccount(token: string): Promise<Omit<ExternalAccount, 'linkedAt'>>
}

export interface SettingsEditor {
  /** Every option of the table. */
  listOptions(): Promise<OptionList>
  /** What a change would do. Changes nothing. `text` is `undefined` to remove the stored value. */
  preview(
    change: Omit<NewSetting, 'text'> & { readonly text: string | undefined },
    repeat: Repeat | undefined,
  ): Promise<SettingPreview>
  /** All current settings, including defaults. */
  list(): readonly Setting[]
  /**
   * Resolves when the setting is in effect or waits for a restart. Throws a `Refusal` if it cannot be set. With
   * `isImmediate`, cookies signed with earlier secrets are rejected at once. Throws `conflict` if the value is not the
   * expected one, and `option_refused` if the request could not be repeated after the change.
   */
  set(
    setting: NewSetting,
    options: {
      readonly isImmediate: boolean
      readonly expected?: string | undefined
      readonly repeat: Repeat | undefined
    },
  ): Promise<SettingChange>
  /** Settings made at run time, in clear. */
  listStored(): Promise<readonly StoredSetting[]>
  /** Removes the stored value, so that files, environment and defaults apply again. */
  unset(section: string, key: string, repeat: Repeat | undefined): Promise<SettingChange>
}

/** Throws where the request that makes a change would be refused. Left out for a command without a server. */
type Repeat = () => Promise<void>

interface NewSetting {
  readonly section: string
  readonly key: string
  readonly text: string
}

export interface StoredSetting extends NewSetting {
  readonly isSecret: boolean
}
