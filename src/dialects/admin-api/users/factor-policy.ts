// Which accounts need a second factor, and which of them have none.
import { ADMIN_ROLE } from '../../../directory/identity.ts'
import { operation } from '../operation.ts'
import { FACTOR_POLICY, type UnprotectedAccount } from '../schemas/users.ts'
import { showSignIn } from './users.ts'

const MAX_OF_ROLE = 200

export const FACTOR_POLICY_OPERATIONS = {
  'factor-policy.show': operation('GET /second-factor', 'administrator', {
    summary: 'Show which accounts need a second factor and have none',
    reply: FACTOR_POLICY,
    async run({ directory, factorRoles }) {
      const required = factorRoles()
      const found = new Map<string, Omit<UnprotectedAccount, 'lastSignIn'>>()
      let isComplete = true
      if (required.includes(ADMIN_ROLE))
        for (const { name, hasTotp } of directory.listAdministrators())
          if (!hasTotp) found.set(name, { name, isAdministrator: true, roles: [ADMIN_ROLE] })
      for (const role of required) {
        const { users, next } = await directory.searchUsers({ role, hasNoFactor: true, limit: MAX_OF_ROLE })
        if (next !== undefined) isComplete = false
        for (const user of users) {
          const roles = directory.listRoles(user)
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
