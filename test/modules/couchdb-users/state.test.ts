import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../../src/base/log.ts'
import {
  advanceMirror,
  beginMirror,
  type CopyProgress,
  changeMirror,
  claimMirror,
  LeaseLost,
  readMirror,
  releaseMirror,
} from '../../../src/modules/couchdb-users/state.ts'
import { openStore } from '../../../src/store/create-store.ts'

const PROGRESS: CopyProgress = { copy: 'c', phase: 'filling', since: '1', checkpoint: '', done: 1, pending: 2 }

describe('of two processes', () => {
  it('one follows, until it ends or does not renew its lease', async (t) => {
    const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
    t.after(() => store.close())
    const { statements } = store
    assert.equal(await claimMirror(statements, 'a', 0), undefined)
    await beginMirror(statements, { phase: 'filling' })
    const holderAt = async (name: string, nowMs: number) => (await claimMirror(statements, name, nowMs))?.holder
    assert.equal(await holderAt('a', 0), 'a')
    assert.equal(await holderAt('b', 5000), 'a')
    assert.equal(await holderAt('a', 9000), 'a')
    assert.equal(await holderAt('b', 12_000), 'a')
    assert.equal(await holderAt('b', 19_000), 'b')
    await releaseMirror(statements, 'a')
    assert.equal(await holderAt('a', 19_001), 'b')
    await releaseMirror(statements, 'b')
    assert.equal(await holderAt('a', 19_002), 'a')
  })

  it('the one that has lost the lease stores nothing', async (t) => {
    const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
    t.after(() => store.close())
    await beginMirror(store.statements, { phase: 'filling' })
    await claimMirror(store.statements, 'a', 0)
    const advance = (holder: string, progress: CopyProgress) =>
      store.writeUsersWith([], () => advanceMirror({ holder, nowMs: 1, freshMs: 0, progress }))
    await advance('a', PROGRESS)
    await claimMirror(store.statements, 'b', 20_000)
    await assert.rejects(advance('a', { ...PROGRESS, since: '9' }), LeaseLost)
    assert.deepEqual((await readMirror(store.statements))?.progress, PROGRESS)
  })

  it('the one that follows has lost the lease when a command has changed what it does', async (t) => {
    const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
    t.after(() => store.close())
    const { statements } = store
    const release = () => changeMirror(statements, (progress) => ({ ...progress, release: 'now' }))
    assert.equal(await release(), false)
    await beginMirror(statements, { phase: 'filling' })
    await claimMirror(statements, 'a', 0)
    const advance = store.writeUsersWith([], () =>
      advanceMirror({ holder: 'a', nowMs: 1, freshMs: 0, progress: PROGRESS }),
    )
    const [changed] = await Promise.all([release(), advance.catch(() => {})])
    assert.equal(changed, true)
    assert.equal((await readMirror(statements))?.progress.release, 'now')
  })
})
