import { commaListOf } from '../../config/codecs.ts'
import { live } from '../../config/option-table.ts'

const databases = commaListOf('names of databases, separated by commas', (item) => item)

export const writeAuditOptions = {
  rows: {
    'audit.writes': live(databases, [], {
      help: 'Databases behind the document door whose writes are recorded.',
      more: 'Each successful write through the gateway is an event document.written: user, address, database, id and new revision of the document, or how many documents of a bulk write were written. * means all databases. Empty: none.',
    }),
  },
}
