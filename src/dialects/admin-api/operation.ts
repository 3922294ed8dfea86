import type { AdministratorDirectory, UserEditor, UserImporter, UserReader } from '../../directory/directory.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'

/** What one call brings: what stood in its path, its query, and its body as it was read from JSON. */
export interface Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: unknown
  /** Aborted when the caller no longer waits. */
  readonly signal?: AbortSignal
  /** Left out for a command that has opened the store itself. */
  readonly caller?: Caller
}

export interface Caller {
  /** `null`: the owner of the process, at its socket. */
  readonly name: string | null
  /** Throws unless the credential has proved the password, or this is it. */
  requirePassword(current: string | undefined): Promise<void>
}

/** The member by which the current password is sent beside a session that is too old to count alone. */
export const CURRENT_PASSWORD = 'current_password'

/** For changes of an account. Those of others may be made with any credential of an administrator. */
export async function requireOwnPassword({ caller }: Call, name: string, current: string | undefined): Promise<void> {
  if (caller?.name === name) await caller.requirePassword(current)
}

/** One thing that can be asked of Cardea, whoever asks: a request, or a command that has opened the store itself. */
export interface Operation<R> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/_cardea/api`. */
  readonly path: string
  run(deps: ControlDeps, call: Call): R | Promise<R>
}

/** One setting as it may be shown. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly source: string
  readonly isDefault: boolean
  readonly note?: string
}

export interface ControlSettings {
  /** Everything in force, defaults too; secrets masked. */
  list(): readonly ShownSetting[]
  /** Throws a `Refusal` for what cannot be set. When it has answered, the setting is in force, or waits for a restart. */
  set(section: string, key: string, text: string, options: SetOptions): Promise<SettingChange>
  /** Back to what files, environment and defaults say. */
  unset(section: string, key: string): Promise<SettingChange>
}

export interface SetOptions {
  /** Of the cookie secret: what was made with earlier ones is refused at once. */
  readonly isImmediate: boolean
}

export interface SettingChange {
  readonly name: string
  /** As it may be shown; empty for nothing. */
  readonly previous: string
  readonly value: string
  readonly needsRestart: boolean
  /** What is to be said of the new value. */
  readonly warnings: readonly string[]
}

/** Of this node. */
export interface Health {
  readonly product: string
  readonly version: string
  readonly pid: number
  readonly store: string
  /** Age of what is known of changes made elsewhere. */
  readonly stalenessMs: number
}

export interface ControlDeps {
  readonly directory: UserReader & UserEditor & UserImporter & AdministratorDirectory
  readonly events: SecurityEvents
  readonly settings: ControlSettings
  health(): Health
}
