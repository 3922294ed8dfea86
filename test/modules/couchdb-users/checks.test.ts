import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { it } from 'node:test'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { COUCHDB_USERS_CHECK } from '../../../src/modules/couchdb-users/checks.ts'
import { advanceCopy, beginCopy, claimLease, removeCopy } from '../../../src/modules/couchdb-users/state.ts'
import { openStore } from '../../../src/store/create-store.ts'
import { openAskedDatabases } from '../../../src/wiring/upstreams.ts'
import { read } from '../../config/given.ts'
import { makeFolder } from '../../support/scope.ts'
import { UPSTREAM_SECRET } from '../../support/upstream.ts'

const PROGRESS = { copy: 'c', phase: 'following', since: '1', checkpoint: '', done: 1, pending: 0 } as const

it('a check names unknown administrators, documents that are left out, and conflicts', async (t) => {
  const couchdb = createServer((_request, response) => void response.end('{"root":"-pbkdf2-","admin":"-pbkdf2-"}'))
  await once(couchdb.listen(0, '127.0.0.1'), 'listening')
  const url = `sqlite:${join(makeFolder(t), 'store.db')}`
  const store = await openStore(url, { log: SILENT_LOG })
  await beginCopy(store.statements, { phase: 'filling' })
  await claimLease(store.statements, 'a', 0)
  const refused = [
    { document: 'org.couchdb.user:odd', kind: 'left-out', reason: 'A reason.' },
    { document: 'org.couchdb.user:both', kind: 'conflict', reason: 'It has conflicts.' },
  ] as const
  await store.writeUsersWith([], () => advanceCopy({ holder: 'a', nowMs: 1, freshMs: 0, progress: PROGRESS, refused }))
  await store.close()
  const upstream = `document = http://127.0.0.1:${(couchdb.address() as AddressInfo).port}`
  const ini = `[store]\nurl = ${url}\n[upstream]\n${upstream}\ndocument-secret = ${UPSTREAM_SECRET}\n[admins]\nadmin = pw\n`
  const { settings } = read({ ini })
  const databases = await openAskedDatabases(settings.values, SILENT_LOG)
  t.after(() => databases.close())
  const find = async () => {
    const given = { hasStore: true, findDatabase: databases.find, flags: {} }
    const findings = await COUCHDB_USERS_CHECK.find(settings, given)
    return findings.map(({ level, message, names }) => [level, message, names])
  }
  const documents = [
    ['warning', 'cannot sign in, because the document has conflicts', ['org.couchdb.user:both']],
    ['warning', 'left out: A reason.', ['org.couchdb.user:odd']],
  ]
  const unknown = ['warning', 'administrators of CouchDB are not administrators of Cardea', ['root']]
  assert.deepEqual(await find(), [unknown, ...documents])
  couchdb.closeAllConnections()
  couchdb.close()
  const [problem, ...others] = await find()
  assert.deepEqual([problem?.[0], others], ['problem', documents])
  const released = await openStore(url, { log: SILENT_LOG })
  await removeCopy(released.statements, 'a')
  await released.close()
  assert.deepEqual(await find(), [['ok', 'no copy of them is in the store', undefined]])
})
