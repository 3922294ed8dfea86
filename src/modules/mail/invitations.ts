/** Invitations. An administrator decides about the rights; the person with the mailbox chooses the password. */
import { nowSeconds } from '../../base/clock.ts'
import { digestHex } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { type OperationDeps, operation } from '../../dialects/admin-api/operation.ts'
import { PASSWORD_RULES } from '../../dialects/admin-api/schemas/account.ts'
import { flag, nullable, object, text } from '../../dialects/admin-api/schemas/schema.ts'
import { readUserDraft } from '../../dialects/admin-api/users/user-input.ts'
import { toAddressKey } from '../../directory/users/address.ts'
import { requireGrants, requireRoles } from '../../directory/users/check-user.ts'
import { listRuleTexts } from '../../passwords/password-rules.ts'
import { numberOf, one, type StoreSteps, textOf } from '../../store/engine.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import { toStatements } from '../../store/statements.ts'
import {
  createInvited,
  INVITATION,
  INVITED,
  type InvitationView,
  isNameTaken,
  requireInvited,
} from '../password-links/invited.ts'
import { requireFreeLink } from '../password-links/links.ts'
import { requireAddress } from './addresses.ts'
import { removeJobs, toJob, toKeyEnd } from './queue.ts'
import { addUncounted } from './requests.ts'
import { ADDRESS_OWNER, INVITATION_LIST, NO_NAME, REQUESTED } from './schemas.ts'
import { doAddressesSignIn, isMailOn } from './settings.ts'
import { requireNamedApart } from './sign-up.ts'

const STATEMENTS = toStatements(
  {
    listInvitations: `SELECT data, expires_at FROM cardea_links WHERE purpose = '${INVITATION.name}' AND expires_at > $1
      ORDER BY expires_at DESC LIMIT 1000`,
    removeInvitation: `DELETE FROM cardea_links WHERE purpose = '${INVITATION.name}' AND name = $1 RETURNING digest`,
  },
  'mail.',
)

/** One for each address: a newer one ends the older. */
export const toInvitationLink = (invitation: InvitationView) => ({
  name: toAddressKey(invitation.address),
  data: JSON.stringify(invitation),
})

const TOKEN = { token: text('The secret of the link.') }
export const INVITATION_OPERATIONS = {
  'invitation.add': operation('POST /invitations', 'administrator', {
    summary: 'Invite a person by e-mail to create an account with these rights; a new invitation ends the earlier one',
    body: INVITED,
    reply: REQUESTED,
    async run(deps, { body }) {
      const invitation = { ...body, address: requireAddress(body.address) }
      await requireInvitable(deps, invitation)
      const { address } = invitation
      await addUncounted(deps, toJob('mail.invitation', { address, invitation }))
      deps.events.record('user.invited', { subject: invitation.name ?? NEW_USER })
      return { requested: true }
    },
  }),
  'invitation.list': operation('GET /invitations', 'administrator', {
    summary: 'List the invitations that were sent and are not used yet',
    reply: INVITATION_LIST,
    async run({ statements, clock, options }) {
      const rows = await statements.ask(one(STATEMENTS.listInvitations, nowSeconds(clock)))
      const invitations = rows.map((row) => show(textOf(row, 'data'), numberOf(row, 'expires_at')))
      return { invitations, canSend: isMailOn(options()) }
    },
  }),
  'invitation.remove': operation('DELETE /invitations/{address}', 'administrator', {
    summary: 'Withdraw an invitation',
    reply: object({ address: text() }),
    async run({ statements, events }, { params }) {
      const address = requireAddress(params['address'] ?? '')
      const isFound = await statements.transact(function* (): StoreSteps<boolean> {
        yield* lockCounters()
        const key = toAddressKey(address)
        const jobs = yield* removeJobs('mail.invitation', key, toKeyEnd(key))
        const links = yield one(STATEMENTS.removeInvitation, key)
        return jobs.length + links.length > 0
      })
      if (!isFound) throw new Refusal('not_found', { reason: 'There is no invitation for this address.' })
      events.record('user.uninvited', { subject: NEW_USER })
      return { address }
    },
  }),
  'account.find-invitation': operation('POST /account/invitation/find', 'anonymous', {
    summary: 'Show the new account of an invitation',
    body: object({ ...TOKEN, 'name?': text('Checks whether the person can choose it.') }),
    reply: object({
      name: nullable(text(), NO_NAME),
      address: text(),
      passwordRules: PASSWORD_RULES,
      'canLink?': flag('Whether an account at an identity provider can take the place of the password.'),
    }),
    async run(deps, { body }) {
      const digest = digestHex('sha256', body.token)
      const { data } = await requireFreeLink<InvitationView>(deps, INVITATION, digest)
      if (body.name !== undefined) await requireInvited(deps, { digest, name: body.name })
      const canLink = deps.server?.external.isOpenToBrowsers()
      const passwordRules = listRuleTexts(deps.passwordRules())
      return { name: data.name ?? null, address: data.address, passwordRules, ...(canLink && { canLink }) }
    },
  }),
  'account.accept-invitation': operation('POST /account/invitation/accept', 'anonymous', {
    summary: 'Create the account of an invitation',
    body: object({
      ...TOKEN,
      'name?': text('Required if the invitation leaves it open.'),
      password: text(),
    }),
    reply: ADDRESS_OWNER,
    async run(deps, { caller, body: { token, name, password } }) {
      const invited = await requireInvited(deps, { digest: digestHex('sha256', token), name })
      const user = await createInvited(deps, { caller, invited }, (draft, once) =>
        deps.directory.createUser({ ...draft, password: { password } }, once),
      )
      return { name: user.name, address: user.address?.text ?? '' }
    },
  }),
}

export const NEW_USER = '(new user)'

function show(data: string, expiresAt: number) {
  // `toInvitationLink` has written it
  const { address, name = null, roles = [], grants = [] } = JSON.parse(data) as InvitationView
  return { address, name, roles, grants, expiresAt }
}

/** The name and the address are checked again when the link is used. */
async function requireInvitable(deps: OperationDeps, { name, address, ...rights }: InvitationView): Promise<void> {
  const { roles = [], multiModel } = readUserDraft({ name: name ?? '', ...rights })
  requireRoles(roles)
  requireGrants(multiModel?.grants ?? new Map())
  if (name !== undefined && doAddressesSignIn(deps.options())) requireNamedApart({ name, address })
  const isTaken = name !== undefined && (await isNameTaken(deps, name))
  if (isTaken || (await deps.directory.findAddressOwner(address)))
    throw new Refusal('conflict', { reason: `A user has this ${isTaken ? 'name' : 'address'} already.` })
}
