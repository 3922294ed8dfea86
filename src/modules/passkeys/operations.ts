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
import { flag, object, text } from '../../dialects/admin-api/schemas/schema.ts'
import { requireExistingUser, requireManagedName, toManager } from '../../dialects/admin-api/users/delegation.ts'
import type { Account } from '../../directory/account.ts'
import type { Caller } from '../../directory/caller.ts'
import {
  hasPasskeys,
  isPasskeyLabel,
  PASSKEY_FORM,
  type Passkey,
  toPasskeyKey,
  type User,
} from '../../directory/users/user.ts'
import { NO_PASSWORD } from '../../passwords/schemes.ts'
import { forgetCounter } from './counters.ts'
import { ADDED, BROWSER_JSON, PASSKEYS, type PasskeysView, type PasskeyView } from './schemas.ts'

const OPTIONS = object({ options: BROWSER_JSON('For `navigator.credentials`, in the form of its JSON functions.') })
const LABEL = text(`What you call it, up to ${PASSKEY_FORM.maxLabel} characters.`)

export const PASSKEY_OPERATIONS = {
  'passkey.sign-in-options': operation('POST /passkeys/sign-in-options', 'anonymous', {
    summary: 'Begin a sign-in with a passkey',
    reply: OPTIONS,
    run: (deps) => ({ options: requireServer(deps).passkeys.createSignInOptions() }),
  }),
  'account.passkeys': operation('GET /account/passkeys', 'self', {
    setsUpFactor: true,
    summary: 'List your passkeys',
    reply: PASSKEYS,
    run: async (deps, call) => showPasskeys(deps, await requireAccount(deps, requireAccountName(call))),
  }),
  'account.passkey-options': operation('POST /account/passkeys/options', 'self', {
    setsUpFactor: true,
    summary: 'Begin to add a passkey',
    ...PROOF,
    reply: OPTIONS,
    async run(deps, call) {
      const account = await requireAccount(deps, requireAccountName(call))
      await call.requester?.requirePassword(call.body.current_password)
      return { options: requireServer(deps).passkeys.createAddOptions(account, call.requester?.sessionId) }
    },
  }),
  'account.passkey-proof-options': operation('POST /account/passkeys/proof-options', 'self', {
    isBeforeRequiredActions: true,
    setsUpFactor: true,
    summary: 'Begin to sign a request with a passkey, in place of your current password',
    body: object({ request: text('Its method and path, as `DELETE /account/totp`.') }),
    reply: OPTIONS,
    async run(deps, call) {
      const account = await requireAccount(deps, requireAccountName(call))
      const { sessionId } = call.requester ?? {}
      if (sessionId === undefined) throw new Refusal('forbidden', { reason: 'Only a session needs this proof.' })
      if (!hasPasskeys(account)) throw new Refusal('conflict', { reason: 'The account has no passkey.' })
      const proof = { account, sessionId, target: call.body.request }
      return { options: requireServer(deps).passkeys.createProofOptions(proof) }
    },
  }),
  'account.add-passkey': operation('POST /account/passkeys', 'self', {
    setsUpFactor: true,
    summary: 'Add a passkey, with which you can sign in',
    body: object({ label: LABEL, response: BROWSER_JSON('What the browser returned.'), ...CURRENT_PASSWORD }),
    reply: ADDED,
    async run(deps, call) {
      const { requester, caller, body } = call
      const account = await requireAccount(deps, requireAccountName(call))
      // the challenge was given to this session for the password
      if (body.current_password !== undefined) await requester?.requirePassword(body.current_password)
      const given = { label: readLabel(body.label), response: body.response }
      if (!requester) throw new Refusal('forbidden')
      const adding = { client: requester.client, sessionId: requester.sessionId }
      const recoveryCodes = await requireServer(deps).passkeys.add(account, caller, given, adding)
      const shown = await showPasskeys(deps, await requireAccount(deps, account.name))
      return { ...shown, ...(recoveryCodes && { recoveryCodes }) }
    },
  }),
  'account.rename-passkey': operation('PUT /account/passkeys/{id}', 'self', {
    summary: 'Rename a passkey of yours',
    body: object({ label: LABEL }),
    reply: PASSKEYS,
    async run(deps, call) {
      const account = await requireAccount(deps, requireAccountName(call))
      const { id } = requirePasskey(account, call)
      const label = readLabel(call.body.label)
      const rename = (each: Passkey): Passkey => (each.id === id ? { ...each, label } : each)
      await deps.directory.changePasskeys(account.name, call.caller, (all) => all.map(rename))
      return showPasskeys(deps, await requireAccount(deps, account.name))
    },
  }),
  'account.remove-passkey': operation('DELETE /account/passkeys/{id}', 'self', {
    summary: 'Remove a passkey of yours, and end all other sessions and tokens',
    ...PROOF,
    reply: PASSKEYS,
    async run(deps, call) {
      const account = await requireAccount(deps, requireAccountName(call))
      await call.requester?.requirePassword(call.body.current_password)
      await removePasskey(deps, call, account, call.caller)
      await call.requester?.reopenSession()
      return showPasskeys(deps, await requireAccount(deps, account.name))
    },
  }),
  'account.remove-password': operation('DELETE /account/password', 'self', {
    summary: 'Remove your password: you sign in with passkeys, or at an identity provider',
    ...PROOF,
    reply: object({ hasPassword: flag() }),
    async run(deps, call) {
      const name = requireAccountName(call)
      if (deps.directory.isAdministrator(name)) throw new Refusal('conflict', { reason: KEEPS_PASSWORD })
      await call.requester?.requirePassword(call.body.current_password)
      // so that it is known to work
      if (call.requester && call.body.current_passkey === undefined)
        throw new Refusal('password_required', { reason: 'Sign the request with a passkey.' })
      await deps.directory.changeUser(name, call.caller, (user) => withoutPassword(deps, user))
      await call.requester?.reopenSession()
      return { hasPassword: false }
    },
  }),
  'user.passkeys': operation('GET /users/{name}/passkeys', 'userAdmin', {
    summary: 'List the passkeys of a user',
    reply: PASSKEYS,
    async run(deps, call) {
      return showPasskeys(deps, await requireManagedOwner(deps, call))
    },
  }),
  'user.remove-passkey': operation('DELETE /users/{name}/passkeys/{id}', 'userAdmin', {
    summary: 'Remove a passkey of a user, and end all sessions and tokens of the user',
    ...PROOF,
    reply: PASSKEYS,
    async run(deps, call) {
      const owner = await requireManagedOwner(deps, call)
      await requireOwnPassword(call, owner.name, call.body.current_password)
      await removePasskey(deps, call, owner, toManager(deps, call))
      return showPasskeys(deps, await requireManagedOwner(deps, call))
    },
  }),
}

const LAST =
  'A role of yours needs a second factor, and this passkey is your last one: sign the request with it, or ask an administrator.'

const KEEPS_PASSWORD = 'Administrators of the configuration keep their password.'

/** The request is signed with a passkey, so one of the two is one. */
function withoutPassword({ directory }: OperationDeps, user: User): User {
  if (directory.countWaysIn(user) < 2) throw new Refusal('conflict', { reason: TOO_FEW })
  return { ...user, password: NO_PASSWORD }
}

const TOO_FEW =
  'Only a user with two passkeys, or with a passkey and an account at an identity provider, needs no password.'

type PasskeyOwner = Pick<Account, 'name' | 'passkeys'>

/** The administrator or user that the path names; a user who cannot sign in now, too. */
async function requireManagedOwner(deps: OperationDeps, call: ManagedCall): Promise<PasskeyOwner> {
  const name = nameOf(call)
  await requireManagedName(deps, call, name)
  return deps.directory.isAdministrator(name) ? requireAccount(deps, name) : requireExistingUser(deps, name)
}

async function requireAccount({ directory }: OperationDeps, name: string): Promise<Account> {
  const account = await directory.findAccount(name)
  if (!account) throw new Refusal('not_found')
  return account
}

/** The one that the path names. */
function requirePasskey({ passkeys = [] }: PasskeyOwner, { params }: ManagedCall): Passkey {
  const found = passkeys.find(({ id }) => id === params['id'])
  if (!found) throw new Refusal('not_found', { reason: 'The account has no such passkey.' })
  return found
}

/** Removes the passkey that the path names. Its owner must have used one to remove the last that a role needs. */
async function removePasskey(deps: OperationDeps, call: ManagedCall, owner: PasskeyOwner, caller: Caller) {
  const { directory, events, statements } = deps
  const { requester } = call
  const { name } = owner
  const passkey = requirePasskey(owner, call)
  const own = requester?.name === name ? await directory.findAccount(name) : undefined
  const isKept = own?.needsPasskey && !requester?.hasUsedPasskey()
  await directory.changePasskeys(name, caller, (all) => {
    const others = all.filter(({ id }) => id !== passkey.id)
    if (isKept && others.length === 0) throw new Refusal('password_required', { reason: LAST })
    return others
  })
  if (directory.isAdministrator(name)) await forgetCounter(statements, passkey)
  events.record('passkey.removed', { subject: name, passkey: passkey.label })
}

function readLabel(text: string): string {
  const label = text.trim()
  if (!isPasskeyLabel(label)) throw badRequest(`label must have 1 to ${PASSKEY_FORM.maxLabel} characters.`)
  return label
}

async function showPasskeys(
  { directory }: OperationDeps,
  { name, passkeys = [] }: PasskeyOwner,
): Promise<PasskeysView> {
  const uses = passkeys.length === 0 ? new Map<string, number>() : await directory.listTokenUses(name)
  return { passkeys: passkeys.map((passkey) => showPasskey(passkey, uses.get(toPasskeyKey(passkey)))) }
}

const showPasskey = (passkey: Passkey, usedAt: number | undefined): PasskeyView => ({
  id: passkey.id,
  label: passkey.label,
  kind: toKind(passkey),
  host: passkey.rpId,
  createdAt: passkey.createdAt,
  ...(usedAt !== undefined && { usedAt }),
})

/** From what browsers say of the authenticator: there is no list of models. */
function toKind({ isSynced, transports }: Passkey): PasskeyView['kind'] {
  if (isSynced) return 'synced'
  return transports.includes('internal') ? 'device' : 'security-key'
}
