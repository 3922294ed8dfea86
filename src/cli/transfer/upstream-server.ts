import { ADMIN_ROLE, ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import { loadConfiguration } from '../../live-config/load.ts'
import { identityHeadersForDocument } from '../../wiring/gateway.ts'
import { type Context, EXIT, ExitError } from '../context.ts'
import { loadCa } from '../http-client.ts'
import { toInput } from '../own-settings.ts'
import type { DocumentServer } from './document-server.ts'
import { readServerUrl } from './document-server.ts'

/** The identity that reads users. CouchDB needs no user of this name. */
const IMPORTER: Authenticated = Object.freeze({
  ...ANONYMOUS,
  identity: Object.freeze({ ...ANONYMOUS.identity, name: 'cardea-import', roles: [ADMIN_ROLE], isAdmin: true }),
})

const NO_PASSWORDS =
  'ArangoDB does not show stored passwords over HTTP. Import a dump of its _users collection: docs/guides/arangodb.md shows how.'

const REJECTED =
  'it rejects the identity that Cardea signs. Add the lines that cardea start printed to a file of its local.d folder and restart it, or give --source-credentials'

/** The CouchDB server behind the document door, read with the secret that it shares with Cardea. */
export function findUpstream(context: Context): DocumentServer {
  const { settings, problems } = loadConfiguration(toInput(context))
  if (problems.length > 0) throw new ExitError(EXIT.failed, problems.map(({ message }) => message).join('\n'))
  const { upstream } = settings.values
  const [url] = upstream.document
  if (url === undefined) {
    const isArangodb = upstream['multi-model'].length > 0
    throw new ExitError(EXIT.failed, isArangodb ? NO_PASSWORDS : 'No upstream is configured: see upstream.document.')
  }
  const toHeaders = identityHeadersForDocument({ get: () => settings.values })
  return {
    base: readServerUrl(url),
    headers: () => toRecord(toHeaders(IMPORTER).headers),
    ca: loadCa(context, upstream['ca-file'] || undefined),
    caOption: 'upstream.ca-file',
    rejection: REJECTED,
  }
}

const toRecord = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])))
