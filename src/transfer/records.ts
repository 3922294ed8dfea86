/** The records of a dump: what reading one yields, and what writing one needs. */
import { Refusal, refusalText } from '../base/errors.ts'
import type { Json, UserDraft } from '../directory/users/user.ts'
import type { Loss } from './losses.ts'

/** The result of reading one record. Reasons and notes are sentences for people and contain no secrets. */
export type RecordReading =
  | { readonly kind: 'user'; readonly id: string; readonly draft: UserDraft; readonly notes: readonly string[] }
  | { readonly kind: 'administrator'; readonly id: string; readonly text: string }
  | { readonly kind: 'setting'; readonly id: string; readonly setting: WrittenSetting }
  /** Neither a user nor an error: a design document, a deletion, the first and last line of a file. */
  | { readonly kind: 'passed'; readonly id?: string; readonly reason: string }
  /** `isLast`: nothing after it can be read. */
  | (Partial<Label> & { readonly kind: 'refused'; readonly reason: string; readonly isLast?: boolean })

/** Names a record in the report, even if it is rejected. */
export interface Label {
  readonly id: string | undefined
  readonly heading: Heading
}

/** What a record is counted as. A record that does not tell counts as a user. */
export type Heading = 'users' | 'administrators' | 'settings'

/** A setting made at run time. */
export interface WrittenSetting {
  readonly section: string
  readonly key: string
  readonly text: string
}

/** Reads the records of one dump, in order. */
export interface RecordReader {
  /** Throws a `Refusal` that says what is wrong with the record. */
  read(value: unknown): RecordReading
  label(value: unknown): Label
  /** What is wrong with the dump as a whole, at its end. */
  findFlaw?(): string | undefined
}

/** The sentence of a `Refusal`. Any other error is a bug and is thrown again. */
export function toReason(error: unknown): string {
  if (!(error instanceof Refusal)) throw error
  return refusalText(error)
}

/** A record of a dump, and what of the user it cannot contain. */
export interface Written {
  readonly text: string
  readonly losses: readonly Loss[]
}

/** JSON with the members in this order: a JavaScript object would put names that look like numbers first. */
export const renderObject = (members: readonly (readonly [name: string, value: Json])[]): string =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
