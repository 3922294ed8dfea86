// What tokens may say that a key of `[jwt_keys]` verifies.

/** A text, or the beginning of texts. */
interface Pattern {
  readonly text: string
  readonly isPrefix: boolean
}

export interface KeyLimits {
  /** `undefined`: every name. */
  readonly names: readonly Pattern[] | undefined
  readonly roles: readonly Pattern[]
  /** From then on the key verifies nothing, in seconds since the epoch; `undefined`: no end. */
  readonly until: number | undefined
}

const isMatch =
  (text: string) =>
  (pattern: Pattern): boolean =>
    pattern.isPrefix ? text.startsWith(pattern.text) : text === pattern.text

export const allowsName = ({ names }: KeyLimits, name: string): boolean => names?.some(isMatch(name)) ?? true

/** The roles that are allowed. Those of the system, such as `_admin`, must be named whole. */
export const keepRoles = ({ roles: allowed }: KeyLimits, roles: readonly string[]): readonly string[] =>
  roles.filter((role) =>
    allowed.some((pattern) => !(pattern.isPrefix && role.startsWith('_')) && isMatch(role)(pattern)),
  )
