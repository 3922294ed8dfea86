import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../../src/base/log.ts'
import {
  advanceCopy,
  beginCopy,
  type CopyProgress,
  changeCopy,
  claimLease,
  endLease,
  LeaseLost,
  readCopyState,
} from '../../../src/modules/couchdb-users/state.ts'
import { openStore } from '../../../src/store/create-store.ts'

const PROGRESS: CopyProgress = { copy: 'c', phase: 'filling', since: '1', checkpoint: '', done: 1, pending: 2 }

describe('of two processes', () => {
  it('one follows, until it ends or does not renew its lease', async (t) => {
    const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
    t.after(() => store.close())
    const { statements } = store
    assert.equal(await claimLease(statements, 'a', 0), undefined)
    await beginCopy(statements, { phase: 'filling' })
    const holderAt = async (name: string, nowMs: number) => (await claimLease(statements, name, nowMs))?.holder
    assert.equal(await holderAt('a', 0), 'a')
    assert.equal(await holderAt('b', 5000), 'a')
    assert.equal(await holderAt('a', 9000), 'a')
    assert.equal(await holderAt('b', 12_000), 'a')
    assert.equal(await holderAt('b', 19_000), 'b')
    await endLease(statements, 'a')
    assert.equal(await holderAt('a', 19_001), 'b')
    await endLease(statements, 'b')
    assert.equal(await holderAt('a', 19_002), 'a')
  })

  it('the one that has lost the lease stores nothing', async (t) => {
    const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
    t.after(() => store.close())
    await beginCopy(store.statements, { phase: 'filling' })
    await claimLease(store.statements, 'a', 0)
    const advance = (holder: string, progress: CopyProgress) =>
      store.writeUsersWith([], () => advanceCopy({ holder, nowMs: 1, freshMs: 0, progress }))
    await advance('a', PROGRESS)
    await claimLease(store.statements, 'b', 20_000)
    await assert.rejects(advance('a', { ...PROGRESS, since: '9' }), LeaseLost)
    assert.deepEqual((await readCopyState(store.statements))?.progress, PROGRESS)
  })

  it('a command takes the lease from the one that follows, whatever that is doing', async (t) => {
    const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
    t.after(() => store.close())
    const { statements } = store
    const release = () => changeCopy(statements, (progress) => ({ ...progress, release: 'now' }))
    assert.equal(await release(), false)
    await beginCopy(statements, { phase: 'filling' })
    await claimLease(statements, 'a', 0)
    const advance = () =>
      store.writeUsersWith([], () => advanceCopy({ holder: 'a', nowMs: 1, freshMs: 0, progress: PROGRESS }))
    await advance()
    assert.equal(await release(), true)
    await assert.rejects(advance(), LeaseLost)
    assert.deepEqual((await readCopyState(statements))?.progress, { ...PROGRESS, release: 'now' })
  })
})
