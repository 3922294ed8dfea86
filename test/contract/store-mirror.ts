import assert from 'node:assert/strict'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import { hasIntents, noteIntent, removeIntent, removeIntents } from '../../src/modules/couchdb-users/intents.ts'
import {
  advanceCopy,
  beginCopy,
  claimLease,
  countRefused,
  LeaseLost,
  listRefusedDocuments,
  readCopyState,
  removeCopy,
  requireOwnUsers,
  UsersAreCopied,
} from '../../src/modules/couchdb-users/state.ts'
import { NO_PASSWORD } from '../../src/passwords/schemes.ts'
import type { StoreTests } from './store.ts'

const PROGRESS = { copy: 'c', phase: 'filling', since: '1', checkpoint: '', done: 1, pending: 2 } as const
const PREFIX = 'org.couchdb.user:'

/** What clients of CouchDB can call a document. */
const IDS = ['ada', 'a\0b', '\ud800', 'x'.repeat(5000), `${'x'.repeat(5000)}y`, '\u{1f600}'.repeat(2000)]

export const MIRROR_TESTS: StoreTests = {
  async 'notes documents that are no users, whatever their ids are'({ store }) {
    const { statements } = store
    await beginCopy(statements, { phase: 'filling' })
    await claimLease(statements, 'a', 0)
    const advance = (notes: object) =>
      store.writeUsersWith([], () => advanceCopy({ holder: 'a', nowMs: 1, freshMs: 0, progress: PROGRESS, ...notes }))
    const ids = IDS.map((id) => `${PREFIX}${id}`)
    const note = (kind: string, reason: string) =>
      advance({ refused: ids.map((document) => ({ document, kind, reason })) })
    await note('left-out', `a reason \0 ${'y'.repeat(5000)}`)
    await note('conflict', 'It has conflicts.')
    assert.deepEqual(await countRefused(statements), { 'left-out': 0, conflict: IDS.length })
    const listed = await listRefusedDocuments(statements)
    assert.ok(listed.some(({ document }) => document === `${PREFIX}ada`))
    assert.ok(listed.every(({ document, reason }) => document.startsWith(PREFIX) && reason === 'It has conflicts.'))
    await advance({ accepted: ids.slice(1) })
    assert.deepEqual(
      (await listRefusedDocuments(statements)).map(({ document }) => document),
      [`${PREFIX}ada`],
    )
  },

  async 'changes its own users only while they are no copy'({ store }) {
    const { statements } = store
    const write = (name: string) => {
      const record = createEmptyUser(name, NO_PASSWORD)
      return store.writeUsersWith([{ expected: 'absent', record }], function* (outcomes) {
        yield* requireOwnUsers()
        return outcomes.map(({ kind }) => kind)
      })
    }
    assert.deepEqual(await write('ada'), ['written'])
    await beginCopy(statements, { phase: 'filling' })
    assert.equal(await readCopyState(statements), undefined)
    await beginCopy(statements, { phase: 'adopting' })
    assert.equal((await readCopyState(statements))?.progress.pending, 1)
    await assert.rejects(write('bob'), UsersAreCopied)
    assert.equal(await store.findUser('bob'), undefined)
    await claimLease(statements, 'a', 0)
    await assert.rejects(removeCopy(statements, 'b'), LeaseLost)
    await removeCopy(statements, 'a')
    assert.deepEqual(await write('bob'), ['written'])
  },

  async 'has an intent until its user is written, or the copy is a day newer'({ store }) {
    const { statements } = store
    const after = { ...createEmptyUser('ada', NO_PASSWORD), isActive: false }
    const body = { name: 'ada' }
    const note = (nowMs: number) => noteIntent(statements, { before: undefined, after, body, nowMs })
    const write = (name: string) =>
      store.writeUsersWith([], () => removeIntents([{ name, kind: 'changed', sequence: 1, after }]))
    const dayMs = 24 * 60 * 60 * 1000
    await beginCopy(statements, { phase: 'filling' })
    await claimLease(statements, 'a', 0)
    await store.writeUsersWith([], () => advanceCopy({ holder: 'a', nowMs: 1, freshMs: 2 * dayMs, progress: PROGRESS }))
    assert.equal(await note(dayMs), true)
    await write('bob')
    assert.equal(await hasIntents(statements), true)
    await write('ada')
    assert.equal(await hasIntents(statements), false)
    await note(dayMs - 1)
    await write('bob')
    assert.equal(await hasIntents(statements), false)
    await note(dayMs)
    await removeIntent(statements, 'ada', body)
    assert.equal(await hasIntents(statements), false)
    await store.writeUser({ expected: 'absent', record: after })
    assert.equal(await note(dayMs), false)
    assert.equal(await hasIntents(statements), false)
  },
}
