import { Refusal } from '../../base/errors.ts'
import type { Account } from '../account.ts'
import type { AdministratorAccount } from '../administrators.ts'
import type { AccountDirectory } from '../directory.ts'
import type { Knowledge } from './knowledge.ts'
import type { Administration } from './needs.ts'
import type { UserMemory } from './user-memory.ts'

export interface AccountParts {
  readonly administration: Administration
  readonly memory: UserMemory
  readonly knowledge: Pick<Knowledge, 'requireFresh'>
}

export const createFindAccount =
  ({ administration, memory, knowledge }: AccountParts): AccountDirectory['findAccount'] =>
  async (name) => {
    await knowledge.requireFresh()
    const administrator = administration.accounts().get(name)
    if (!administrator) return (await memory.find(name)).account
    return withRoles(administrator, await findRoles(memory, name))
  }

/** Roles are the lesser part of an administrator: without the store it does without them. */
async function findRoles(memory: UserMemory, name: string): Promise<readonly string[]> {
  try {
    return (await memory.find(name, 'remember nobody')).account?.roles ?? []
  } catch (error) {
    if (error instanceof Refusal && error.code === 'store_unavailable') return []
    throw error
  }
}

const withRoles = (account: AdministratorAccount, roles: readonly string[]): Account =>
  roles.length === 0 ? account : { ...account, roles: [...account.roles, ...roles] }
