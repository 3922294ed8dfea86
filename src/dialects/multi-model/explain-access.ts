// What an account may do at this door: asks the rules that requests are checked by.
import type { AccessRule, Account, DoorAccess } from '../../directory/account.ts'
import {
  ALL,
  findLevel,
  resolveCollectionLevel,
  resolveDatabaseLevel,
  SYSTEM_DATABASE,
} from '../../directory/grants.ts'
import type { GrantLevel } from '../../directory/users/user.ts'
import { isManager } from './access.ts'
import type { ManagerSettings } from './settings.ts'

export function explainMultiModelAccess(account: Account, database: string, settings: ManagerSettings): DoorAccess {
  const named = [...(account.grants.get(database)?.collections.keys() ?? [])].filter((name) => name !== ALL)
  const level = findLevel(account, database)
  const rules = [
    { what: `use the database ${database}`, isAllowed: level !== 'none' },
    { what: `write to the database ${database}`, isAllowed: level === 'rw' },
  ]
  return {
    door: 'multi-model',
    rules: [
      ...rules.map((rule) => ({ ...rule, because: explainLevel(account, database) })),
      explainManager(account, settings),
      ...named.map((collection) => explainCollection(account, database, collection)),
    ],
  }
}

const WORDS: Readonly<Record<GrantLevel, string>> = { rw: 'read and write', ro: 'read only', none: 'no access' }

function explainLevel(account: Account, database: string): string {
  if (account.isAdmin) return 'The account is an administrator.'
  const level = WORDS[resolveDatabaseLevel(account.grants, database)]
  const source = [database, ALL, SYSTEM_DATABASE].find((key) => account.grants.get(key)?.level !== undefined)
  if (source === undefined) return 'No grant covers it.'
  if (source === database) return `The grant on ${database}: ${level}.`
  return `There is no grant on ${database}; the higher of those on * and _system applies: ${level}.`
}

function explainManager(account: Account, settings: ManagerSettings): AccessRule {
  const isAllowed = isManager(account, settings)
  const isLimited = !isAllowed && findLevel(account, SYSTEM_DATABASE) === 'rw'
  const because = isLimited ? 'With document.grants = enforce this needs a grant on _system itself.' : undefined
  return { what: 'manage users and the server', isAllowed, because: because ?? explainLevel(account, SYSTEM_DATABASE) }
}

function explainCollection(account: Account, database: string, collection: string): AccessRule {
  const what = `use the collection ${collection} of ${database}`
  if (account.isAdmin) return { what, isAllowed: true, because: 'The account is an administrator.' }
  const level = resolveCollectionLevel(account.grants, database, collection)
  const isEntered = findLevel(account, database) !== 'none'
  const because = `The grant on ${database}/${collection}: ${WORDS[level]}.`
  return {
    what,
    isAllowed: isEntered && level !== 'none',
    because: isEntered ? because : explainLevel(account, database),
  }
}
