// What an operator should check when an upstream fails. Logged with the failure.
import { DOCUMENT_IDENTITIES, type DocumentIdentityKind } from './upstream-identities.ts'

/**
 * `failed`: it was connected, but did not send a response that can be used. `open`: it gives administrative rights to
 * anonymous clients.
 */
export type UpstreamProblem = 'unreachable' | 'failed' | 'identity rejected' | 'open'

export type UpstreamHints = Readonly<Record<UpstreamProblem, string>>

const FAILED =
  'Is this URL the database itself? See the options first-byte-timeout, idle-timeout, ca-file of [upstream].'

const toUnreachable = (option: string): string =>
  `Does a server run at this URL, and can this machine reach it? See ${option}.`

export const toDocumentHints = (identity: DocumentIdentityKind): UpstreamHints => ({
  unreachable: toUnreachable('upstream.document'),
  failed: FAILED,
  'identity rejected': DOCUMENT_IDENTITIES[identity].advice,
  open: 'In CouchDB: an administrator in [admins]; [chttpd_auth] proxy_use_secret = true, or no proxy_authentication_handler.',
})

export const toMultiModelHints = (): UpstreamHints => ({
  unreachable: toUnreachable('upstream.multi-model'),
  failed: FAILED,
  'identity rejected':
    'The secret of upstream.multi-model-secret-keyfile (or the first of -folder) must be one of --server.jwt-secret-keyfile or --server.jwt-secret-folder of ArangoDB. Compare the clocks.',
  open: 'In ArangoDB: [server] authentication = true.',
})

export const toServiceHints = (name: string): UpstreamHints => ({
  unreachable: toUnreachable(`services.${name}`),
  failed: FAILED,
  'identity rejected': '',
  open: '',
})
