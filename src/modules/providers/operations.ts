// The accounts at identity providers that sign in as a user.
import { badRequest, Refusal } from '../../base/errors.ts'
import {
  CURRENT_PASSWORD,
  type ManagedCall,
  nameOf,
  type OperationDeps,
  operation,
  PROOF,
  requireAccountName,
  requireOwnPassword,
  requireServer,
} from '../../dialects/admin-api/operation.ts'
import { object, text } from '../../dialects/admin-api/schemas/schema.ts'
import { requireExistingUser, requireManagedUser, toManager } from '../../dialects/admin-api/users/delegation.ts'
import type { Caller } from '../../directory/caller.ts'
import { toExternalKey, type User } from '../../directory/users/user.ts'
import { listIssuers } from './options.ts'
import { EXTERNAL_ACCOUNTS } from './schemas.ts'

export const EXTERNAL_ACCOUNT_OPERATIONS = {
  'account.external-accounts': operation('GET /account/external-accounts', 'self', {
    summary: 'List the accounts at identity providers that sign in as you',
    reply: EXTERNAL_ACCOUNTS,
    run: async (deps, call) => showLinks(deps, await requireExistingUser(deps, requireAccountName(call))),
  }),
  'account.link-account': operation('POST /account/external-accounts', 'self', {
    summary: 'Let your account at an identity provider sign in as you',
    body: object({ token: text('An access token of that account, after a sign-in just now.'), ...CURRENT_PASSWORD }),
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      const { name } = await requireExistingUser(deps, requireAccountName(call))
      await call.requester?.requireCurrentPassword(call.body.current_password)
      const account = await requireServer(deps).external.findAccount(call.body.token)
      return showLinks(deps, await deps.directory.linkAccount(name, call.caller, account))
    },
  }),
  'account.unlink-account': operation('DELETE /account/external-accounts/{id}', 'self', {
    summary: 'Stop your account at an identity provider from signing in as you, and end all your sessions',
    ...PROOF,
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      await call.requester?.requirePassword(call.body.current_password)
      return unlink(deps, call, await requireExistingUser(deps, requireAccountName(call)), call.caller)
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
      const { name } = await requireExistingUser(deps, nameOf(call))
      await requireOwnPassword(call, name, call.body.current_password)
      const { provider, issuer, subject } = call.body
      const entry = deps.options().provider.find((each) => each.name === provider)
      if (!entry || !listIssuers(entry.values).includes(issuer))
        throw badRequest(`No identity provider ${JSON.stringify(provider)} with this issuer is configured.`)
      return showLinks(
        deps,
        await deps.directory.linkAccount(name, toManager(deps, call), { provider, issuer, subject }),
      )
    },
  }),
  'user.unlink-account': operation('DELETE /users/{name}/external-accounts/{id}', 'userAdmin', {
    summary: 'Stop an account at an identity provider from signing in as a user, and end all sessions of the user',
    ...PROOF,
    reply: EXTERNAL_ACCOUNTS,
    async run(deps, call) {
      const user = await requireManagedUser(deps, call)
      await requireOwnPassword(call, user.name, call.body.current_password)
      return unlink(deps, call, user, toManager(deps, call))
    },
  }),
}

async function unlink(deps: OperationDeps, call: ManagedCall, user: User, caller: Caller) {
  const link = user.links?.find((each) => toExternalKey(each) === call.params['id'])
  if (!link) throw new Refusal('not_found', { reason: 'The user has no such external account.' })
  return showLinks(deps, await deps.directory.unlinkAccount(user.name, caller, link))
}

const showLinks = ({ directory }: OperationDeps, { links = [] }: User) => ({
  accounts: links.map((link) => {
    const { provider, issuer, subject, linkedAt } = link
    const roles = directory.findGivenRoles(link)
    return { id: toExternalKey(link), provider, issuer, subject, linkedAt, ...(roles && { roles }) }
  }),
})
