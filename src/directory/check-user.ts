import { Refusal } from '../base/errors.ts'
import { findLookAlike, hasInvisible, isNormalized } from './new-name.ts'
import { checkName, checkRole, checkWord, type NameFlaw, type RoleFlaw, type User } from './user.ts'

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

export function requireName(name: string): void {
  const flaw = checkName(name)
  if (flaw) throw new Refusal('bad_request', { about: `The name ${FLAWS[flaw]}.` })
}

const NOT_NORMALIZED = 'The name must be in Unicode normalization form C (NFC).'
const INVISIBLE = 'The name must not hold invisible characters or characters that change the direction of text.'
const LOOK_ALIKE = 'The name differs from that of an administrator only in case or in the form of its characters.'

/** For a name that is created, not one that was imported. */
export function requireReadable(name: string): void {
  if (!isNormalized(name)) throw refuse(NOT_NORMALIZED)
  if (hasInvisible(name)) throw refuse(INVISIBLE)
}

/** For a name that is created or imported. Its own name does not keep an administrator from being changed. */
export function requireDistinct(name: string, administrators: Iterable<string>): void {
  if (findLookAlike(name, administrators) !== undefined) throw refuse(LOOK_ALIKE)
}

/** The one role of the server's own that a user may hold; others would make a user more than that. */
const OPEN_SYSTEM_ROLE = '_metrics'

export function requireRoles(roles: readonly string[]): void {
  for (const role of roles) {
    const flaw = role.startsWith('_') && role !== OPEN_SYSTEM_ROLE ? 'leading_underscore' : checkRole(role)
    if (flaw) throw new Refusal('bad_request', { about: `A role ${FLAWS[flaw]}.` })
  }
}

const ALL = '*'

/** Whether every grant speaks of databases and collections that can be. */
export function requireGrants(grants: User['multiModel']['grants']): void {
  for (const [database, { collections }] of grants) {
    requireWord('database', database)
    for (const collection of collections.keys()) requireCollection(database, collection)
  }
}

function requireCollection(database: string, collection: string): void {
  requireWord('collection', collection)
  if (collection.startsWith('_')) throw refuse('Cannot set rights for system collections')
  if (database === ALL && collection !== ALL) throw refuse('Only all collections can be granted on all databases')
}

function requireWord(what: string, word: string): void {
  const flaw = checkWord(word)
  if (flaw) throw refuse(`The name of a ${what} ${FLAWS[flaw]}.`)
}

const refuse = (about: string): Refusal => new Refusal('bad_request', { about })
