import { nowSeconds } from '../../base/clock.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { type OperationDeps, operation, requireServer } from '../../dialects/admin-api/operation.ts'
import { integer, object, text } from '../../dialects/admin-api/schemas/schema.ts'
import { isDatabaseName } from '../../dialects/document/explain-access.ts'
import { createAccessToken, withToken } from '../../directory/access-token.ts'
import { checkWord } from '../../directory/users/names.ts'
import type { UserDraft } from '../../directory/users/user.ts'
import { createCouchdb } from '../user-databases/couchdb.ts'
import { createAsk } from '../user-databases/server.ts'
import { SERVERS, VAULT_ROLE } from '../user-databases/settings.ts'
import { isBeingTaken, putRecord } from '../user-databases/wishes.ts'

/** The token of a device is removed when the device is lost. */
const TOKEN_SECONDS = 10 * 365 * 24 * 3600

export const LIVESYNC_OPERATIONS = {
  'livesync.add': operation('POST /livesync/{name}', 'administrator', {
    summary: 'Create a vault of Obsidian LiveSync, if it does not exist, and a token for one of its devices',
    body: object({ device: text('Name of the token.') }),
    reply: object({
      vault: text('Name of the user and of the database.'),
      device: text(),
      token: text('The password of the device. It is shown only once.'),
      expiresAt: integer('Seconds since the epoch.'),
      url: text('Where devices reach the document door: console.public-url. Empty: it is not set.'),
    }),
    async run(deps, call) {
      const { name = '' } = call.params
      const { device } = call.body
      await requireVault(deps, name, device)
      const draft = (await deps.directory.findUser(name)) ? undefined : toDraft(deps, name)
      // before the database, which would stay without its user
      if (draft) await deps.directory.requireNewUser(draft, call.caller)
      await createDatabase(deps, name)
      if (draft) await deps.directory.createUser(draft, call.caller)
      // it names its user, and a later user of the name must not get it
      await putRecord(deps.statements, { name, door: 'document', database: name, state: 'ready', reason: '' })
      const createdAt = nowSeconds(deps.clock)
      const given = { name: device, createdAt, validUntil: createdAt + TOKEN_SECONDS, databases: [name] }
      const { text: token, token: kept } = createAccessToken({ user: name, ...given })
      await deps.directory.changeUser(name, call.caller, (user) => withToken(user, kept))
      return { vault: name, device, token, expiresAt: kept.validUntil, url: deps.publicUrl() }
    },
  }),
}

/** Throws unless the name is free, or that of a vault without this device. */
async function requireVault({ directory, statements }: OperationDeps, name: string, device: string): Promise<void> {
  const { maxBytes } = SERVERS.document
  if (!isDatabaseName(name) || name.length > maxBytes)
    throw badRequest('The name of a vault is a lower-case letter, then lower-case letters, digits and _$()+-/.')
  const flaw = checkWord(device)
  if (flaw) throw badRequest(`device is not valid: ${flaw.replaceAll('_', ' ')}.`)
  const user = await directory.findUser(name)
  if (directory.isAdministrator(name) || (user && !user.document.roles.includes(VAULT_ROLE)))
    throw new Refusal('conflict', { reason: `There is a user ${name}, which is no vault.` })
  if (user?.multiModel.tokens.some((token) => token.name === device))
    throw new Refusal('conflict', { reason: `The vault has a device ${device} already.` })
  if (await isBeingTaken(statements, { door: 'document', name }, name))
    throw new Refusal('conflict', { reason: `${name} is being closed, because its user was deleted: try again soon.` })
}

/** Users of vaults have no password: each device signs in with its token. */
function toDraft({ options }: OperationDeps, name: string): UserDraft {
  const isGranted = options().document.grants === 'enforce'
  const grants = new Map(isGranted ? [[name, { level: 'rw' as const, collections: new Map() }]] : [])
  return { name, roles: [VAULT_ROLE], multiModel: { grants } }
}

async function createDatabase(deps: OperationDeps, name: string): Promise<void> {
  const upstream = requireServer(deps).findUpstream('document')
  if (!upstream) throw badRequest('Set upstream.document: no CouchDB is behind Cardea.')
  const how = { claim: 'named', shards: 0, mayBeHalfMade: false } as const
  const { state, reason } = await createCouchdb(createAsk(upstream)).create(name, name, how)
  if (reason !== undefined) throw new Refusal('conflict', { reason: `${name}: ${reason}.` })
  const fields = { subject: name, database: name, server: SERVERS.document.name }
  if (state === 'given') deps.events.record('user-database.created', fields)
}
