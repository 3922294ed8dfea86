/**
 * Rules for the name of a user or administrator that is created. Names stored or imported before are exempt, so that
 * their owners can still sign in.
 */

/** Two spellings of one text in different normal forms look the same and would be two users. */
export const isNormalized = (name: string): boolean => name.normalize('NFC') === name

/** Default-ignorable code points show nothing; bidi controls reorder what is shown. Either makes two names look alike. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u

export const hasInvisible = (name: string): boolean => INVISIBLE.test(name)

/**
 * What is left of a name without case and without compatibility forms. Upper case first: it joins letters that share
 * one (`ß` and `ss`, `ı` and `i`), as case folding does.
 */
const foldName = (name: string): string => name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')

/** The name among these, other than this one, that a reader could take it for. */
export function findLookAlike(name: string, others: Iterable<string>): string | undefined {
  const folded = foldName(name)
  for (const other of others) if (other !== name && foldName(other) === folded) return other
  return undefined
}
