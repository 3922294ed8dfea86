/** The recorded requests get the same responses with users in this CouchDB as with users of Cardea's own. */
import { randomBytes } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { isJsonObject } from '../../src/base/json.ts'
import { type Exception, replayCases } from '../conformance/replay.ts'
import { findBlock } from '../docs/page.ts'
import type { Couchdb } from './couchdb.ts'
import { fillSecret, GUIDE } from './in-front.ts'

/** None is about users: they set options that CouchDB does not have. */
const UNKNOWN: Exception = {
  reason: 'of options of a CouchDB only those that Cardea knows can be set',
  shown: /cannot be set over HTTP|unknown_config_value|json\.colour/,
}
const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  'config/section': UNKNOWN,
  'config/put-get-delete': UNKNOWN,
  'config/put-number': UNKNOWN,
}

export function testCases(couchdb: Couchdb): void {
  describe('recorded cases before a real CouchDB', () => {
    const secret = randomBytes(32).toString('hex')
    const clearing: (() => Promise<unknown>)[] = []
    before(async () => {
      clearing.push(await couchdb.configure(fillSecret(findBlock(GUIDE, 'ini couchdb'), secret)))
      const known = new Set((await listDocuments(couchdb)).map(({ _id: id }) => id))
      clearing.unshift(() => removeOthers(couchdb, known))
    })
    after(async () => {
      for (const clear of clearing) await clear()
    })
    replayCases('document', {
      sharesUsers: true,
      exceptions: EXCEPTIONS,
      openOptions: async () => ({
        upstream: { document: couchdb.url, 'document-secret': secret },
        directory: { source: 'couchdb' },
      }),
    })
  })
}

interface Found {
  readonly _id: string
  readonly _rev: string
}

async function listDocuments({ request }: Couchdb): Promise<readonly Found[]> {
  const { rows } = Object(await request('GET', '/_users/_all_docs'))
  return rows
    .filter(isJsonObject)
    .map(({ id, value }: { id: string; value: { rev: string } }) => ({ _id: id, _rev: value.rev }))
}

async function removeOthers(couchdb: Couchdb, known: ReadonlySet<string>): Promise<void> {
  const others = (await listDocuments(couchdb)).filter(({ _id: id }) => !known.has(id))
  const docs = others.map((each) => ({ ...each, _deleted: true }))
  await couchdb.request('POST', '/_users/_bulk_docs', { docs })
}
