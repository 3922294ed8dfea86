import type { Rotation, RotationStep, StepName } from '../../../keys/rotate-secret.ts'

/** The secrets that serve one purpose. */
export interface ShownRing {
  /** The option that names them. */
  readonly option: string
  /** What they are for, in words. */
  readonly use: string
  /** The file or folder, or where the option is set. */
  readonly source: string
  /** Whether a reload reads them again. */
  readonly reloadable: boolean
  /** Why the last reload failed; the previous secrets are in use then. */
  readonly problem: string | null
  /** The secret that signs comes first. */
  readonly keys: readonly ShownKey[]
}

export interface ShownKey {
  /** The beginning of the SHA-256 of the secret. */
  readonly hashPrefix: string
  /** Whether it signs. The others only verify. */
  readonly isActive: boolean
  readonly algorithm: string
  /** Name of the file. */
  readonly file?: string
  /** Since the file or the setting was changed; absent: not known. */
  readonly ageSeconds?: number
}

/** The rotation of the token secrets. */
export interface ShownRotation extends Partial<Rotation> {
  /** Why no step can be taken here; absent: one can. */
  readonly problem?: string
}

export interface SecretsEditor {
  list(): Promise<readonly ShownRing[]>
  /** Reads the files of all secrets again. */
  reload(): Promise<readonly { readonly option: string; readonly problem: string | null }[]>
  findRotation(): Promise<ShownRotation>
  /** Takes this step, and loads the secrets. Throws `conflict` if it is not the next one, or a node is not ready. */
  rotate(step: StepName, options: { readonly isForced: boolean }): Promise<RotationStep>
}
