/**
 * Checks of what a client gives for a user or administrator. The rules for new names do not apply to names that were
 * stored or imported before, so that their owners can still sign in.
 */
import { badRequest } from '../../base/errors.ts'
import { ALL } from '../grants.ts'
import { METRICS_ROLE } from '../identity.ts'
import type { DirectoryParts } from '../parts.ts'
import { checkName, checkRole, checkWord, foldName, type NameFlaw, type RoleFlaw } from './names.ts'
import type { User } from './user.ts'

const FLAWS: Readonly<Record<NameFlaw | RoleFlaw, string>> = {
  empty: 'must not be empty',
  too_long: 'must not be longer than 256 bytes',
  not_text: 'must be text',
  control_character: 'must not hold control characters',
  white_space_at_end: 'must not begin or end with white space',
  colon: 'must not hold a colon',
  comma: 'must not hold a comma',
  leading_underscore: 'must not begin with an underscore',
}

/** The rule that a name breaks, in words that follow "the name"; `undefined`: none. */
export function describeNameFlaw(name: string): string | undefined {
  const flaw = checkName(name)
  return flaw && FLAWS[flaw]
}

export function requireName(name: string): void {
  const flaw = describeNameFlaw(name)
  if (flaw) throw badRequest(`The name ${flaw}.`)
}

const NOT_NORMALIZED = 'The name must be in Unicode normalization form C (NFC).'
const INVISIBLE = 'The name must not hold invisible characters or characters that change the direction of text.'
const LOOK_ALIKE = 'The name differs from that of an administrator only in case or in the form of its characters.'
const RESERVED = 'Names that begin so are those of the users of an identity provider.'

/** For a created name, not for an imported one. */
export function requireReadable(name: string): void {
  if (!isNormalized(name)) throw badRequest(NOT_NORMALIZED)
  if (hasInvisible(name)) throw badRequest(INVISIBLE)
}

/** For a created or imported name. An administrator may have the name itself. */
export function requireDistinct(name: string, deps: Pick<DirectoryParts, 'administration' | 'settings'>): void {
  const why = findConfusion(name, deps)
  if (why !== undefined) throw badRequest(why)
}

/** Why the name could be mistaken for that of an administrator or of an asserted user. */
export function findConfusion(
  name: string,
  { administration, settings }: Pick<DirectoryParts, 'administration' | 'settings'>,
): string | undefined {
  if (findLookAlike(name, administration.accounts().keys()) !== undefined) return LOOK_ALIKE
  const folded = foldName(name)
  return settings().reservedPrefixes.some((prefix) => folded.startsWith(prefix)) ? RESERVED : undefined
}

/** Two normal forms of one text look the same and would be two users. */
export const isNormalized = (name: string): boolean => name.normalize('NFC') === name

/** Default-ignorable code points are invisible; bidi controls reorder the text. Both make two names look alike. */
const INVISIBLE_CHARACTER = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u

export const hasInvisible = (name: string): boolean => INVISIBLE_CHARACTER.test(name)

/** Another name in the list that a reader could mistake for this one. */
export function findLookAlike(name: string, others: Iterable<string>): string | undefined {
  const folded = foldName(name)
  for (const other of others) if (other !== name && foldName(other) === folded) return other
  return undefined
}

/** Other roles with a leading underscore would give the rights of the server. */
export function requireRoles(roles: readonly string[]): void {
  for (const role of roles) {
    const flaw = role.startsWith('_') && role !== METRICS_ROLE ? 'leading_underscore' : checkRole(role)
    if (flaw) throw badRequest(`A role ${FLAWS[flaw]}.`)
  }
}

export function requireGrants(grants: User['multiModel']['grants']): void {
  for (const [database, { collections }] of grants) {
    requireWord('database', database)
    for (const collection of collections.keys()) requireCollection(database, collection)
  }
}

function requireCollection(database: string, collection: string): void {
  requireWord('collection', collection)
  if (collection.startsWith('_')) throw badRequest('Cannot set rights for system collections')
  if (database === ALL && collection !== ALL) throw badRequest('Only all collections can be granted on all databases')
}

function requireWord(what: string, word: string): void {
  const flaw = checkWord(word)
  if (flaw) throw badRequest(`The name of a ${what} ${FLAWS[flaw]}.`)
}
