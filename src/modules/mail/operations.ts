import { digestHex } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import {
  CURRENT_PASSWORD,
  type OperationDeps,
  operation,
  requireAccountName,
  requireOwnPassword,
} from '../../dialects/admin-api/operation.ts'
import { PASSWORD_RULES } from '../../dialects/admin-api/schemas/account.ts'
import { flag, nullable, object, text } from '../../dialects/admin-api/schemas/schema.ts'
import { requireExistingUser, requireManagedUser } from '../../dialects/admin-api/users/delegation.ts'
import { idOf } from '../../directory/account.ts'
import type { NewJob } from '../../directory/store-port/jobs.ts'
import type { User } from '../../directory/users/user.ts'
import { listRuleTexts } from '../../passwords/password-rules.ts'
import { isNameTaken, nameTaken } from '../password-links/invited.ts'
import { requireLink } from '../password-links/links.ts'
import { USE_LINK } from '../password-links/operations.ts'
import { CONFIRM_ADDRESS, confirmAddress, readConfirmation, requireAddress, setAddress } from './addresses.ts'
import { INVITATION_OPERATIONS } from './invitations.ts'
import { requireNotice, takeBack } from './notices.ts'
import { toJob } from './queue.ts'
import { addUncounted, countRequest } from './requests.ts'
import { ADDRESS, ADDRESS_OWNER, REQUESTED } from './schemas.ts'
import { isMailOn } from './settings.ts'
import { createSignedUp, requireNamedApart, requireSignUp } from './sign-up.ts'
import { findWaiting } from './waiting.ts'

const GIVEN_ADDRESS = object({ address: text() })
const CHOSEN_PASSWORD = object({ token: text('The secret of the link.'), password: text() })
const NEW_ACCOUNT = object({ name: text(), address: text(), passwordRules: PASSWORD_RULES })
const TOKEN = object({ token: text('The secret of the link.') })

export const MAIL_OPERATIONS = {
  ...INVITATION_OPERATIONS,
  'mail.waiting': findWaiting,
  'account.request-password-reset': operation('POST /account/password-reset', 'anonymous', {
    summary: 'Send a link to choose a new password to the user with this address',
    body: GIVEN_ADDRESS,
    reply: REQUESTED,
    async run(deps, call) {
      const address = requireAddress(call.body.address)
      await countRequest(deps, call, address, toJob('mail.password-reset', { address }))
      return { requested: true }
    },
  }),
  'account.confirm-password-reset': operation('POST /account/password-reset/confirm', 'anonymous', {
    summary: 'Choose a new password with the secret of such a link; ends all sessions of the user',
    ...USE_LINK,
  }),
  'account.request-sign-up': operation('POST /account/sign-up/request', 'anonymous', {
    summary: 'Send a link to create an account to an address; needs mail.sign-up = verified',
    body: object({ name: text(), address: text() }),
    reply: REQUESTED,
    async run(deps, call) {
      requireSignUpOn(deps)
      const { name } = call.body
      const address = requireAddress(call.body.address)
      requireNamedApart({ name, address })
      // a name that is the address would show that the address has an account: its mailbox gets a message that says so
      const isTaken = !name.includes('@') && (await isNameTaken(deps, name))
      await countRequest(deps, call, address, isTaken ? undefined : toJob('mail.sign-up', { name, address }))
      // only now: otherwise a client could look for names without a limit
      if (isTaken) throw nameTaken()
      return { requested: true }
    },
  }),
  'account.find-sign-up': operation('POST /account/sign-up/find', 'anonymous', {
    summary: 'Show the new account of such a link',
    body: TOKEN,
    reply: NEW_ACCOUNT,
    async run(deps, { body }) {
      requireSignUpOn(deps)
      return withRules(deps, (await requireSignUp(deps, body.token)).data)
    },
  }),
  'account.confirm-sign-up': operation('POST /account/sign-up/confirm', 'anonymous', {
    summary: 'Create the account with such a link and a password',
    body: CHOSEN_PASSWORD,
    reply: ADDRESS_OWNER,
    async run(deps, call) {
      requireSignUpOn(deps)
      return createSignedUp(deps, call, call.body)
    },
  }),
  'account.address': operation('GET /account/address', 'self', {
    summary: 'Show your address',
    reply: ADDRESS,
    run: async (deps, call) => showAddress(deps, await deps.directory.findUser(requireAccountName(call))),
  }),
  'account.request-address': operation('POST /account/address', 'self', {
    summary: 'Send a link to an address, with which it becomes yours',
    body: object({ address: text(), ...CURRENT_PASSWORD }),
    reply: REQUESTED,
    async run(deps, call) {
      await call.requester?.requirePassword(call.body.current_password)
      const user = await requireExistingUser(deps, requireAccountName(call))
      const address = requireAddress(call.body.address)
      await countRequest(deps, call, address, toAddressJob(user, { address, isOwn: true }))
      return { requested: true }
    },
  }),
  'account.find-address-link': operation('POST /account/address/find', 'anonymous', {
    summary: 'Show the user and the address of a link that confirms an address',
    body: TOKEN,
    reply: ADDRESS_OWNER,
    async run(deps, { body }) {
      const { link } = await requireLink(deps, [CONFIRM_ADDRESS], digestHex('sha256', body.token))
      return { name: link.name, address: readConfirmation(link.data).address }
    },
  }),
  'account.confirm-address': operation('POST /account/address/confirm', 'anonymous', {
    summary: 'Confirm an address with such a link',
    body: TOKEN,
    reply: ADDRESS_OWNER,
    run: async (deps, { caller, body }) =>
      showOwner(await confirmAddress(deps, caller, digestHex('sha256', body.token))),
  }),
  'account.find-address-undo': operation('POST /account/address/undo/find', 'anonymous', {
    summary: 'Show the user and the address of the link of a notice: this was not me',
    body: TOKEN,
    reply: NEW_ACCOUNT,
    run: async (deps, { body }) => withRules(deps, (await requireNotice(deps, body.token)).notice),
  }),
  'account.undo-address': operation('POST /account/address/undo', 'anonymous', {
    summary:
      'Take the account back with such a link and a new password: ends all sessions and tokens, restores the address, and removes what was added since to sign in',
    body: CHOSEN_PASSWORD,
    reply: object({
      ...ADDRESS_OWNER.properties,
      'needsAdministrator?': flag('Whether the user is disabled until an administrator enables it again.'),
    }),
    async run(deps, { caller, body }) {
      const { name, address, isActive } = await takeBack(deps, caller, body)
      return { name, address, ...(!isActive && { needsAdministrator: true }) }
    },
  }),
  'user.address': operation('GET /users/{name}/address', 'userAdmin', {
    summary: 'Show the address of a user',
    reply: ADDRESS,
    run: async (deps, call) => showAddress(deps, await requireManagedUser(deps, call)),
  }),
  // not for user administrators: the user may get more rights than they have, and reset links go to the address
  'user.set-address': operation('PUT /users/{name}/address', 'administrator', {
    summary: 'Set the address of a user, as verified, or remove it',
    body: object({ address: nullable(text(), 'null removes it.'), ...CURRENT_PASSWORD }),
    reply: ADDRESS,
    async run(deps, call) {
      const { name } = await requireManagedUser(deps, call)
      await requireOwnPassword(call, name, call.body.current_password)
      const address = call.body.address === null ? undefined : requireAddress(call.body.address)
      return showAddress(deps, await setAddress(deps, { name, caller: call.caller, address }))
    },
  }),
  'user.verify-address': operation('POST /users/{name}/address', 'administrator', {
    summary: 'Send a link to an address, with which it becomes that of the user',
    body: GIVEN_ADDRESS,
    reply: REQUESTED,
    async run(deps, call) {
      const user = await requireManagedUser(deps, call)
      await addUncounted(deps, toAddressJob(user, { address: requireAddress(call.body.address), isOwn: false }))
      return { requested: true }
    },
  }),
}

function requireSignUpOn(deps: OperationDeps): void {
  if (deps.options().mail['sign-up'] !== 'verified')
    throw new Refusal('forbidden', { reason: 'Sign-up by mail is closed: mail.sign-up.' })
}

const withRules = (deps: OperationDeps, { name, address }: { readonly name: string; readonly address: string }) => ({
  name,
  address,
  passwordRules: listRuleTexts(deps.passwordRules()),
})

const showAddress = (deps: OperationDeps, user: User | undefined) => ({
  address: user?.address?.text ?? null,
  canSend: isMailOn(deps.options()),
})

const showOwner = ({ name, address }: User) => ({ name, address: address?.text ?? '' })

/**
 * The key is the id of the user, so a later message replaces one that still waits. Otherwise the one to a mistyped
 * address could be sent last, and its link would end that of the right address.
 */
function toAddressJob(user: User, given: { readonly address: string; readonly isOwn: boolean }): NewJob {
  const payload = { ...given, name: user.name, version: CONFIRM_ADDRESS.toVersion(user) }
  return toJob('mail.verify-address', payload, idOf(user))
}
