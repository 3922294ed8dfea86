import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openStore, type StoreOptions } from '../../src/store/create-store.ts'
import { createIn } from '../contract/store-values.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { PGBOUNCER, startPgBouncer } from './pgbouncer.ts'
import { startPostgres } from './postgres-server.ts'

const skip = PGBOUNCER === undefined && 'PgBouncer is not installed'

const scope = createSharedScope()
const server = await startPostgres()
after(() => server.stop())

describe('a pooler before PostgreSQL', { skip }, async () => {
  if (skip) return
  const [sessions, transactions] = await Promise.all(
    (['session', 'transaction'] as const).map((mode) => startPgBouncer(scope, server.addressOf('postgres'), mode)),
  )
  const inDatabase = async (url = '', name = '') => {
    await server.execute(server.addressOf('postgres'), `CREATE DATABASE ${name}`)
    return url.replace(/postgres$/, name)
  }
  const open = async (url: string, postgres: Partial<StoreOptions['postgres']> = {}) => {
    const defaults = { maxConnections: 10, pooling: 'session', listenUrl: '' } as const
    const store = await openStore(url, { log: SILENT_LOG, postgres: { ...defaults, ...postgres } })
    scope.after(() => store.close())
    return store
  }
  const writeMany = async (store: Awaited<ReturnType<typeof open>>) => {
    const names = Array.from({ length: 30 }, (_, number) => `user-${number}`)
    const sequences = await Promise.all(names.map((name) => createIn(store, name)))
    assert.equal(new Set(sequences).size, names.length)
    const users = await Promise.all(names.map((name) => store.findUser(name)))
    assert.deepEqual(users.map((user) => user?.sequence).sort(), sequences.sort())
  }

  it('is refused at the start if it keeps no connection for a client, with what to do', async () => {
    const opening = open(await inDatabase(transactions, 'refused'))
    await assert.rejects(opening, {
      name: 'IncompatibleStoreError',
      message: /session mode, or set store\.pooling = transaction, and store\.listen-url/,
    })
  })

  it('that keeps a connection for each client is like the server itself', async () => {
    const store = await open(await inDatabase(sessions, 'in_sessions'))
    let wakes = 0
    store.onWake(() => {
      wakes += 1
    })
    await waitUntil(() => wakes > 0)
    wakes = 0
    await writeMany(store)
    await waitUntil(() => wakes > 0)
  })

  it('serves with store.pooling = transaction, and the server itself tells of changes', async () => {
    const url = await inDatabase(transactions, 'in_transactions')
    const listenUrl = server.addressOf('in_transactions')
    const store = await open(url, { pooling: 'transaction', listenUrl })
    let wakes = 0
    store.onWake(() => {
      wakes += 1
    })
    await waitUntil(() => wakes > 0)
    wakes = 0
    await writeMany(store)
    await waitUntil(() => wakes > 0)
    await writeMany(await open(await inDatabase(transactions, 'polled'), { pooling: 'transaction' }))
  })
})
