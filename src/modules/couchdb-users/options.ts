import { boolean, oneWordOf } from '../../config/codecs.ts'
import { live, restart } from '../../config/option-table.ts'
import type { ModuleOptions, Rule } from '../../config/options.ts'

const ROWS = {
  'directory.source': restart(oneWordOf(['own', 'couchdb']), 'own', {
    help: 'Where the users of a new store are: in the store itself, or in the CouchDB behind the document door.',
    more: 'couchdb: the store has a copy, which follows the changes in CouchDB. It needs upstream.document. A store that has users is moved with cardea directory adopt and release, whatever this option says.',
    fixed: 'it decides whose passwords are accepted',
  }),
  'directory.upgrade-hashes': live(boolean, false, {
    help: 'Whether hashes that chttpd_auth.upgrade_hash_on_auth replaces at a sign-in are written to CouchDB too.',
    more: 'Only while the users are in CouchDB. Without it they stay as they are there.',
  }),
}

type Rows = typeof ROWS

declare module '../../config/options.ts' {
  interface OptionRows extends Rows {}
}

const NEEDS_UPSTREAM: Rule = {
  about: ['directory.source', 'upstream.document'],
  check: ({ values: { directory, upstream } }) =>
    directory.source === 'couchdb' && upstream.document.length === 0
      ? 'directory.source = couchdb needs upstream.document'
      : undefined,
}

export const couchdbUsersOptions = {
  rows: ROWS,
  sections: { directory: 'Where the users are.' },
  rules: [NEEDS_UPSTREAM],
} satisfies ModuleOptions
