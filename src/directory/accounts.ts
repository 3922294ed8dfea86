import { Refusal } from '../base/errors.ts'
import type { Account } from './account.ts'
import type { AdministratorAccount } from './administrators.ts'
import type { Knowledge } from './change-tracker.ts'
import type { Administration } from './deps.ts'
import type { AccountDirectory } from './directory.ts'
import type { KnownUser, UserMemory } from './user-memory.ts'

export interface AccountParts {
  readonly administration: Administration
  readonly memory: UserMemory
  readonly knowledge: Pick<Knowledge, 'isStale' | 'requireFresh'>
}

export const createFindAccount =
  ({ administration, memory, knowledge }: AccountParts): AccountDirectory['findAccount'] =>
  (name) => {
    const known = knowledge.isStale() ? undefined : memory.peek(name)
    if (!known) return lookUp({ administration, memory, knowledge }, name)
    const administrator = administration.accounts().get(name)
    return administrator ? withRoles(administrator, rolesOf(known)) : known.account
  }

async function lookUp({ administration, memory, knowledge }: AccountParts, name: string): Promise<Account | undefined> {
  await knowledge.requireFresh()
  const administrator = administration.accounts().get(name)
  return administrator ? withRoles(administrator, await findRoles(memory, name)) : (await memory.find(name)).account
}

/** Roles are the lesser part of an administrator: without the store it does without them. */
async function findRoles(memory: UserMemory, name: string): Promise<readonly string[]> {
  try {
    return rolesOf(await memory.find(name, 'remember nobody'))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'store_unavailable') return []
    throw error
  }
}

const rolesOf = ({ account }: KnownUser): readonly string[] => account?.roles ?? []

const withRoles = (account: AdministratorAccount, roles: readonly string[]): Account =>
  roles.length === 0 ? account : { ...account, roles: [...account.roles, ...roles] }
