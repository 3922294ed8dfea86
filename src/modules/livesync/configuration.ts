/**
 * "Check database configuration" of the plug-in reads the configuration with the credential of the vault. It gets the
 * values that it compares, and nothing else: other users get 401 there, as in CouchDB.
 */
import { toDocumentReply } from '../../dialects/document/body.ts'
import { isAccount } from '../../directory/account.ts'
import { type Identity, identityOf } from '../../directory/identity.ts'
import type { Reply, RequestContext, Step } from '../../http/request-context.ts'
import type { AskedDatabase, DocumentDoorCore } from '../module.ts'
import { createAsk } from '../user-databases/server.ts'
import { VAULT_ROLE } from '../user-databases/settings.ts'

const PATH = '/_node/_local/_config'

export const createConfigurationStep = (core: DocumentDoorCore): Step => ({
  name: 'configuration for vaults',
  run: (context) => (isAsked(context) && isVault(identityOf(context)) ? showConfiguration(core) : undefined),
})

const isAsked = ({ method, target }: RequestContext): boolean => method === 'GET' && target === PATH

const isVault = (identity: Identity): boolean =>
  isAccount(identity) && !identity.isAdmin && identity.roles.includes(VAULT_ROLE)

async function showConfiguration({ settings, database }: DocumentDoorCore): Promise<Reply> {
  const { chttpd, cors } = settings()
  const maxDocumentSize = await findMaxDocumentSize(database)
  return toDocumentReply(200, {
    // the plug-in looks for its user here
    admins: {},
    chttpd: {
      require_valid_user: String(chttpd.require_valid_user),
      enable_cors: String(chttpd.enable_cors),
      max_http_request_size: String(chttpd.max_http_request_size),
    },
    httpd: { 'WWW-Authenticate': chttpd['WWW-Authenticate'] },
    couchdb: maxDocumentSize === undefined ? {} : { max_document_size: maxDocumentSize },
    cors: { credentials: String(cors.credentials), origins: cors.origins.join(',') },
  })
}

/** Only CouchDB has this option, and users may not read it there. */
async function findMaxDocumentSize(database: AskedDatabase): Promise<string | undefined> {
  if (!database.isSet()) return undefined
  const { status, body } = await createAsk(database)(`${PATH}/couchdb/max_document_size`)
  return status === 200 && typeof body === 'string' ? body : undefined
}
