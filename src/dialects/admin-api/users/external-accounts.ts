// The accounts at identity providers that sign in as a user.
import { badRequest, Refusal } from '../../../base/errors.ts'
import { toExternalKey, type User } from '../../../directory/users/user.ts'
import { ANY_USER, type CheckWrite } from '../../../directory/users/user-operations.ts'
import {
  type Call,
  CURRENT_PASSWORD,
  nameOf,
  type OperationDeps,
  operation,
  PROOF,
  requireAccountName,
  requireOwnPassword,
  requireServer,
} from '../operation.ts'
import { EXTERNAL_ACCOUNTS } from '../schemas/account.ts'
import { object, text } from '../schemas/schema.ts'
import { requireManagedUser, requireUser, toCheck } from './delegation.ts'

export const EXTERNAL_ACCOUNT_OPERATIONS = {
  'account.external-accounts': operation('GET /account/external-accounts', 'self', {
    summary: 'List the accounts at identity providers that sign in as you',
    reply: EXTERNAL_ACCOUNTS,
    run: async (deps, call) => showLinks(deps, await requireUser(deps, requireAccountName(call))),
  }),
  'account.link-account': operation('POST /account/external-accounts', 'self', {
    summary: 'Let your account at an identity provider sign in as you',
    body: object({ token: text('An access token of that account, after a sign-in just now.'), ...CURRENT_PASSWORD }),
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      const { name } = await requireUser(deps, requireAccountName(call))
      await call.caller?.requireCurrentPassword(call.body.current_password)
      const account = await requireServer(deps).findExternalAccount(call.body.token)
      return showLinks(deps, await deps.directory.linkAccount(name, ANY_USER, account))
    },
  }),
  'account.unlink-account': operation('DELETE /account/external-accounts/{id}', 'self', {
    summary: 'Stop your account at an identity provider from signing in as you, and end all your sessions',
    ...PROOF,
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      await call.caller?.requirePassword(call.body.current_password)
      return unlink(deps, call, await requireUser(deps, requireAccountName(call)), ANY_USER)
    },
  }),
  'user.external-accounts': operation('GET /users/{name}/external-accounts', 'userAdmin', {
    summary: 'List the accounts at identity providers that sign in as a user',
    reply: EXTERNAL_ACCOUNTS,
    run: async (deps, call) => showLinks(deps, await requireManagedUser(deps, call)),
  }),
  // the id proves nothing: a user administrator could make the account of another person sign in as a user of its own
  'user.link-account': operation('POST /users/{name}/external-accounts', 'administrator', {
    summary: 'Let an account at an identity provider sign in as a user',
    instead:
      'Only administrators link an account by its id. Create a password link for the user, who then links the account by signing in there.',
    body: object({
      provider: text('Its name in the configuration.'),
      issuer: text('The claim `iss` of its tokens.'),
      subject: text('The claim `sub`: the id of the account there.'),
      ...CURRENT_PASSWORD,
    }),
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      const { name } = await requireUser(deps, nameOf(call))
      await requireOwnPassword(call, name, call.body.current_password)
      const { provider, issuer, subject } = call.body
      if (!deps.listIssuers(provider).includes(issuer))
        throw badRequest(`No identity provider ${JSON.stringify(provider)} with this issuer is configured.`)
      return showLinks(deps, await deps.directory.linkAccount(name, toCheck(deps, call), { provider, issuer, subject }))
    },
  }),
  'user.unlink-account': operation('DELETE /users/{name}/external-accounts/{id}', 'userAdmin', {
    summary: 'Stop an account at an identity provider from signing in as a user, and end all sessions of the user',
    ...PROOF,
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      const user = await requireManagedUser(deps, call)
      await requireOwnPassword(call, user.name, call.body.current_password)
      return unlink(deps, call, user, toCheck(deps, call))
    },
  }),
}

async function unlink(deps: OperationDeps, call: Call, user: User, check: CheckWrite) {
  const link = user.links?.find((each) => toExternalKey(each) === call.params['id'])
  if (!link) throw new Refusal('not_found', { reason: 'The user has no such external account.' })
  return showLinks(deps, await deps.directory.unlinkAccount(user.name, check, link))
}

const showLinks = ({ directory }: OperationDeps, { links = [] }: User) => ({
  accounts: links.map((link) => {
    const { provider, issuer, subject, linkedAt } = link
    const roles = directory.findGivenRoles(link)
    return { id: toExternalKey(link), provider, issuer, subject, linkedAt, ...(roles && { roles }) }
  }),
})
