import { oneWordOf } from '../../config/codecs.ts'
import { live } from '../../config/option-table.ts'

export const documentGrantsOptions = {
  rows: {
    'document.grants': live(oneWordOf(['off', 'enforce']), 'off', {
      help: 'Whether the grants of users hold at the document door too.',
      more: 'off: _security of CouchDB alone decides. enforce: a user reads with ro and writes with rw, by the grant on the database, otherwise by that on *; any other database is not found. _security still applies. _replicate and databases named _replicator are for administrators then, and rw on * makes no manager at the multi-model door.',
    }),
    'document.grants-others': live(oneWordOf(['security', 'none']), 'security', {
      help: 'With enforce: what requests may do that are no user of the directory.',
      more: 'These are anonymous requests, and JWTs of [jwt_keys] and proxies that assert another name than that of a user. security: _security of CouchDB decides. none: they find no database.',
    }),
  },
}
