/** What names of users, roles, databases and collections can be. */

export type NameFlaw =
  | 'empty'
  | 'too_long'
  | 'not_text'
  | 'control_character'
  | 'white_space_at_end'
  | 'colon'
  | 'leading_underscore'

export type RoleFlaw = Exclude<NameFlaw, 'colon' | 'leading_underscore'> | 'comma'

const MAX_BYTES = 256
const CONTROL = /\p{Cc}/u

/** Why the text cannot be the name of a user or administrator; `undefined` if it can. */
export function checkName(name: string): NameFlaw | undefined {
  if (name.startsWith('_')) return 'leading_underscore'
  return name.includes(':') ? 'colon' : checkWord(name)
}

/** Why the text cannot be a role; `undefined` if it can. */
export const checkRole = (role: string): RoleFlaw | undefined => (role.includes(',') ? 'comma' : checkWord(role))

type WordFlaw = Exclude<RoleFlaw, 'comma'>

/** The rules that names, roles, databases and collections share. */
export function checkWord(word: string): WordFlaw | undefined {
  if (word === '') return 'empty'
  // the cheap check first: a UTF-16 unit is at least one byte
  if (word.length > MAX_BYTES || Buffer.byteLength(word) > MAX_BYTES) return 'too_long'
  // half a surrogate pair has no UTF-8: two such names would be the same in the store
  if (!word.isWellFormed()) return 'not_text'
  if (CONTROL.test(word)) return 'control_character'
  return word.trim() === word ? undefined : 'white_space_at_end'
}

/**
 * The name without case and compatibility forms. JavaScript has no case folding. Lower case first, which maps `ẞ` to `ß`;
 * then upper case, which maps `ß` to `SS` and both small sigmas to one letter. Look-alikes of other scripts stay different.
 */
export const foldName = (name: string): string =>
  name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')
