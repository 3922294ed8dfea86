// The roles that users have: their members, what these reach, and which of them lack a second factor that they need.
import { Refusal } from '../../../base/errors.ts'
import { type Account, toAccount } from '../../../directory/account.ts'
import { SYSTEM_DATABASE } from '../../../directory/grants.ts'
import { ADMIN_ROLE } from '../../../directory/identity.ts'
import { createEmptyUser } from '../../../directory/users/revisions.ts'
import { foldCase } from '../../../directory/users/search-entries.ts'
import { type User, withField } from '../../../directory/users/user.ts'
import { NO_PASSWORD } from '../../../passwords/schemes.ts'
import { nameOf, type OperationDeps, operation } from '../operation.ts'
import {
  FACTOR_POLICY,
  ROLE_DETAILS,
  ROLE_PAGE,
  ROLE_QUERY,
  type RoleDetailsView,
  type UnprotectedAccountView,
} from '../schemas/users.ts'
import { showSignIn } from './users.ts'

const MAX_ROLES = 500
/** Accounts without a second factor that are listed for each role. */
const MAX_OF_ROLE = 200

export const ROLE_OPERATIONS = {
  'role.list': operation('GET /roles', 'administrator', {
    summary: 'List the roles that users have, with the number of their members',
    query: ROLE_QUERY,
    reply: ROLE_PAGE,
    async run({ directory }, { query: { search = '', after, limit = MAX_ROLES } }) {
      const { counts, next } = await directory.countUsersBy('role', foldCase(search), limit, after)
      const roles: { name: string; members: number }[] = []
      for (const { key, count, name } of counts)
        roles.push({ name: await findSpelling(directory, name, key), members: count })
      return { roles, ...(next !== undefined && { next }) }
    },
  }),
  'role.show': operation('GET /roles/{name}', 'administrator', {
    summary: 'Show what the members of a role reach',
    reply: ROLE_DETAILS,
    async run(deps, call) {
      const name = nameOf(call)
      const { users, next } = await deps.directory.searchUsers({ role: name, limit: MAX_EXAMINED })
      if (users.length === 0) throw new Refusal('not_found')
      const rules = deps.explainAccess(toMember(name), SYSTEM_DATABASE).find(({ door }) => door === 'document')?.rules
      return {
        name,
        isUserAdmin: name === deps.userAdminRole(),
        // `_security` decides about the documents of a database
        rules: rules?.filter(({ isAllowed }) => isAllowed !== null) ?? [],
        grants: countGrants(users),
        examined: users.length,
        isComplete: next === undefined,
      }
    },
  }),
  'factor-policy.show': operation('GET /second-factor', 'administrator', {
    summary: 'Show which accounts need a second factor and have none',
    reply: FACTOR_POLICY,
    async run({ directory, factorRoles }) {
      const required = factorRoles()
      const found = new Map<string, Omit<UnprotectedAccountView, 'lastSignIn'>>()
      let isComplete = true
      if (required.includes(ADMIN_ROLE))
        for (const { name, hasTotp, passkeys } of directory.listAdministrators())
          if (!hasTotp && !passkeys) found.set(name, { name, isAdministrator: true, roles: [ADMIN_ROLE] })
      for (const role of required) {
        const { users, next } = await directory.searchUsers({ role, hasNoFactor: true, limit: MAX_OF_ROLE })
        if (next !== undefined) isComplete = false
        for (const user of users) {
          // those of an external account count in its own sessions only, and need a second factor at its issuer
          const { roles } = user.document
          if (user.isActive && roles.includes(role) && !directory.isAdministrator(user.name))
            found.set(user.name, {
              name: user.name,
              isAdministrator: false,
              roles: roles.filter((each) => required.includes(each)),
            })
        }
      }
      const signIns = await directory.findLastSignIns([...found.keys()])
      const missing = [...found.values()].map((account) => ({
        ...account,
        lastSignIn: showSignIn(signIns.get(account.name)),
      }))
      return { roles: required, missing, isComplete }
    },
  }),
}

/** The key of a role ignores case. Roles that differ only in case are one row, spelled as its first member has it. */
async function findSpelling(directory: OperationDeps['directory'], member: string, key: string): Promise<string> {
  const user = await directory.findUser(member)
  return (user && directory.listRoles(user).find((role) => foldCase(role) === key)) ?? key
}

/** Grants of at most so many members are counted. */
const MAX_EXAMINED = 500

/** A user who has this role and nothing else. */
const toMember = (role: string): Account => toAccount(withField(createEmptyUser(role, NO_PASSWORD), 'roles', [role]))

function countGrants(users: readonly User[]): RoleDetailsView['grants'] {
  const counts = new Map<string, { database: string; rw: number; ro: number; none: number; other: number }>()
  for (const { multiModel } of users)
    for (const [database, { level = 'other' }] of multiModel.grants) {
      const row = counts.get(database) ?? { database, rw: 0, ro: 0, none: 0, other: 0 }
      counts.set(database, { ...row, [level]: row[level] + 1 })
    }
  return [...counts.values()].toSorted((one, two) => (one.database < two.database ? -1 : 1))
}
