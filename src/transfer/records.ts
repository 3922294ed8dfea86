/** The records of a dump: what reading one yields, and what writing one needs. */
import { Refusal } from '../base/errors.ts'
import type { UserDraft } from '../directory/directory.ts'
import type { Json, User } from '../directory/user.ts'

/** What one record of a dump says. Reasons and notes are sentences for people, and hold nothing secret. */
export type Reading =
  | { readonly kind: 'user'; readonly id: string; readonly draft: UserDraft; readonly notes: readonly string[] }
  | { readonly kind: 'administrator'; readonly id: string; readonly text: string }
  /** No user, and no mistake either: a design document, a deletion, the head of the file. */
  | { readonly kind: 'passed'; readonly id?: string; readonly reason: string }
  /** `isLast`: nothing after it can be read. */
  | { readonly kind: 'refused'; readonly id?: string; readonly reason: string; readonly isLast?: boolean }

/** Reads the records of one dump, in order. */
export interface RecordReader {
  /** Never throws, whatever it is given. */
  read(value: unknown): Reading
  /** What is wrong with the dump as a whole, once it is over. */
  end(): Reading | undefined
}

/** A reader without memory. `findId` tells a record's name for the report, also where the record is refused. */
export const createRecordReader = (
  findId: (value: unknown) => string | undefined,
  read: (value: unknown) => Reading,
): RecordReader => ({
  end: () => undefined,
  read(value) {
    try {
      return read(value)
    } catch (error) {
      const id = findId(value)
      return { kind: 'refused', ...(id === undefined ? {} : { id }), reason: toReason(error) }
    }
  },
})

/** A sentence for the refusal of a record. Anything but a refusal is a defect and goes on. */
export function toReason(error: unknown): string {
  if (!(error instanceof Refusal)) throw error
  return error.about ?? error.message
}

/** A record of a dump, and what of the user has no place in it. */
export interface Written {
  readonly text: string
  readonly losses: readonly Loss[]
}

/** `deactivated`: the other database knows no such thing, so the password is left out. */
export type Loss = 'password' | 'deactivated' | 'second_factor' | 'access_tokens' | 'grants' | 'roles' | 'members'

/** Those that keep somebody from signing in as before: told one by one. The others are counted. */
export const REPORTED_LOSSES: ReadonlyMap<Loss, string> = new Map([
  ['password', 'The password cannot be carried over.'],
  ['deactivated', 'It is deactivated, which cannot be said there: written without its password.'],
  ['second_factor', 'The second factor cannot be carried over: written without its password.'],
  ['access_tokens', 'Its access tokens cannot be carried over: only their digests are kept.'],
])

/** How the records of a dump are put together. */
export interface RecordWriter {
  readonly head: string
  writeUser(user: User): Written
  /** Between two records. */
  readonly separator: string
  tail(users: number): string
}

/** An object as text, its members in this order: an object would put names that look like numbers first. */
export const renderObject = (members: readonly (readonly [name: string, value: Json])[]): string =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
