import type { Json, User } from '../directory/user.ts'

/** A record of a dump, and what of the user has no place in it. */
export interface Written {
  readonly text: string
  readonly losses: readonly Loss[]
}

/** `deactivated`: the other database knows no such thing, so the password is left out. */
export type Loss = 'password' | 'deactivated' | 'second_factor' | 'access_tokens' | 'grants' | 'roles' | 'members'

/** Those that keep somebody from signing in as before: told one by one. The others are counted. */
export const GRAVE_LOSSES: ReadonlyMap<Loss, string> = new Map([
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
