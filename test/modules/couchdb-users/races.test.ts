/** Documents that are followed while others write, and beside records that cannot be read. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Refusal } from '../../../src/base/errors.ts'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { keepRepeating } from '../../../src/base/sleep.ts'
import type { Store } from '../../../src/directory/store-port/store.ts'
import { applyUpdate, revisionOf, toNewUser } from '../../../src/directory/users/revisions.ts'
import type { User } from '../../../src/directory/users/user.ts'
import { openKernel } from '../../../src/kernel/kernel.ts'
import { toUnconfirmed, type UsersDatabase } from '../../../src/modules/couchdb-users/database.ts'
import { decide } from '../../../src/modules/couchdb-users/decide.ts'
import { createFollower, type FollowDeps } from '../../../src/modules/couchdb-users/follow.ts'
import { hasIntents, noteIntent } from '../../../src/modules/couchdb-users/intents.ts'
import { readCurrent } from '../../../src/modules/couchdb-users/reading.ts'
import {
  beginCopy,
  type CopyProgress,
  changeCopy,
  listRefusedDocuments,
  readCopyState,
  removeCopy,
} from '../../../src/modules/couchdb-users/state.ts'
import { createWriteThrough } from '../../../src/modules/couchdb-users/write-through.ts'
import { KERNEL_ROWS } from '../../../src/modules.ts'
import { readDocumentPassword, toFullMembers } from '../../../src/passwords/schemes.ts'
import type { OpenStore } from '../../../src/store/create-store.ts'
import { one } from '../../../src/store/engine.ts'
import { read } from '../../config/given.ts'
import type { Scope } from '../../support/scope.ts'
import { hashPassword, toId } from '../../support/users-in-couchdb.ts'
import { waitUntil } from '../../support/wait.ts'

const PREFIX = toId('')
const toRevision = (number: number) => `${number}-${String(number).padStart(32, '0')}`
const KEYS = new Map<number, object>()

/** The document of ada in this revision. Each has another password. */
function toRead(number: number, name = 'ada') {
  const hash = KEYS.get(number) ?? hashPassword(`pw-${number}`)
  KEYS.set(number, hash)
  const before = Array.from({ length: number }, (_, index) => ({
    rev: toRevision(number - index),
    status: 'available',
  }))
  return {
    _id: toId(name),
    _rev: toRevision(number),
    type: 'user',
    name,
    roles: [],
    ...hash,
    _revs_info: before,
  }
}

/** As the feed or another node brings it. */
async function bring(store: Store, number: number): Promise<void> {
  const stored = await store.findUser('ada')
  const decision = decide(stored, readCurrent(toId('ada'), toRead(number), PREFIX), 1000)
  assert.ok(decision.kind === 'write')
  const { record } = decision
  const [outcome] = await store.importUsers([{ expected: stored?.sequence ?? 'absent', record }])
  assert.equal(outcome?.kind, 'written')
}

async function openScene(scope: Scope) {
  const { values } = read({ ini: '[store]\nurl = sqlite::memory:\n' }).settings
  const kernel = await openKernel(values, { rows: KERNEL_ROWS, log: SILENT_LOG })
  scope.after(() => kernel.close())
  const { store } = kernel
  await bring(store, 4)
  const state = {
    number: 5,
    onRead: async () => {},
    /** What CouchDB replies to a write instead. */
    onWrite: async (): Promise<{ kind: 'conflict' } | undefined> => undefined,
    rows: [] as object[],
  }
  const history: string[] = []
  const written = new Map<string, object>()
  /** CouchDB has the document now, in its next revision, and the feed shows it. */
  const bringTo = (id: string, body: object): string => {
    const { _revs_info, _rev: revision } = toRead(id === toId('ada') ? 5 : 1)
    const doc = { ...body, _id: id, _rev: revision }
    state.rows.push({ id, changes: [{ rev: revision }], doc })
    written.set(id, { ...doc, _revs_info })
    return revision
  }
  const database = {
    async findDocument(id: string) {
      const document = written.get(id) ?? (id === toId('ada') ? toRead(state.number) : undefined)
      await state.onRead()
      return document
    },
    async writeDocument(id: string, body: object) {
      const refused = await state.onWrite()
      return refused ?? ({ kind: 'written', revision: bringTo(id, body) } as const)
    },
    readChanges: async () => ({ rows: state.rows.splice(0), lastSeq: '9', pending: 0 }),
    listRevisions: async () => new Map([[toId('ada'), toRevision(state.number)]]),
    allowsConflicts: async () => false,
    readLocal: async () => ({ history }),
    async writeLocal(_id: string, body: { history: readonly string[] }) {
      history.splice(0, history.length, ...body.history)
      return true
    },
  } as Partial<UsersDatabase> as UsersDatabase
  /** Once, after the document was read and before it is decided about. */
  const whileRead = (number: number) => {
    state.onRead = async () => {
      state.onRead = async () => {}
      state.number = number
      await bring(store, number)
    }
  }
  const applying = {
    kernel,
    database,
    directory: { isAdministrator: () => false, findConfusion: () => undefined },
    prefix: PREFIX,
    isVerifiable: async () => true,
    settle: async () => {},
    hasFoldedNames: () => false,
    maxStalenessMs: () => 60_000,
  }
  const openWriter = () =>
    createWriteThrough({
      ...applying,
      isStale: () => false,
      requireVerifiable: async () => {},
      findApplyDeps: () => applying,
    })
  const revision = async () => revisionOf((await store.findUser('ada'))?.record)
  /** Follows until ada has what CouchDB got, and returns her. */
  const followAda = async (): Promise<User> => {
    follow(scope, { ...applying, kernel })
    await waitUntil(async () => (await revision()) === toRevision(5))
    return (await requireUser(store)).record
  }
  return { kernel, store, applying, openWriter, state, whileRead, revision, bringTo, followAda }
}

async function requireUser(store: Store) {
  const stored = await store.findUser('ada')
  assert.ok(stored?.record.kind === 'user')
  return { sequence: stored.sequence, record: stored.record }
}

/** As the body of a request changes the user: its document, and what only Cardea knows. */
function withRoleAndGrant(user: User): User {
  const grants = new Map([['shop', { level: 'rw', collections: new Map() } as const]])
  const { document, multiModel } = user
  const after = { ...user, document: { ...document, roles: ['staff'] }, multiModel: { ...multiModel, grants } }
  return applyUpdate(user, after, { nowSeconds: 2000 })
}

const listGranted = ({ multiModel }: User): readonly string[] => [...multiModel.grants.keys()]

const MAYBE = { reason: /may have been made/ }

const PROGRESS = { copy: 'c', phase: 'comparing', since: '0', checkpoint: '', done: 0, pending: 0 } as const

type Follower = Parameters<typeof createFollower>

/** Follows until the test ends. */
function follow(scope: Scope, deps: FollowDeps, show: Follower[2] = () => {}, known: Follower[1] = undefined): void {
  const { attempt, end } = createFollower(deps, known, show)
  const stopRepeating = keepRepeating(attempt)
  scope.after(async () => {
    await stopRepeating()
    await end()
  })
}

async function setProgress({ statements }: OpenStore, progress: CopyProgress): Promise<void> {
  await beginCopy(statements, { phase: 'adopting' })
  await changeCopy(statements, () => progress)
}

it('a write that finds a newer document leaves what another node has stored meanwhile', async (t) => {
  const { store, openWriter, whileRead, revision } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  const { wrap } = openWriter()
  whileRead(6)
  const stored = await store.findUser('ada')
  assert.ok(stored?.record.kind === 'user')
  const record: User = { ...stored.record, document: { ...stored.record.document, revision: toRevision(9) } }
  assert.equal((await wrap(store).writeUser({ expected: stored.sequence, record })).kind, 'conflict')
  assert.equal(await revision(), toRevision(6))
})

it('a comparison of all users leaves what was stored meanwhile, and so the grants of the user', async (t) => {
  const { kernel, store, applying, whileRead, revision } = await openScene(t)
  await setProgress(store, PROGRESS)
  const before = await store.findUser('ada')
  whileRead(6)
  let phase: string | undefined
  follow(t, { ...applying, kernel }, ({ progress }) => {
    phase = progress?.phase
  })
  await waitUntil(async () => phase === 'following')
  assert.equal(await revision(), toRevision(6))
  const idOf = (stored: typeof before) => (stored?.record.kind === 'user' ? stored.record.id : 'none')
  assert.equal(idOf(await store.findUser('ada')), idOf(before))
})

it('users who were a copy do not count as own while the store cannot be read', async (t) => {
  const { kernel, store, applying } = await openScene(t)
  await setProgress(store, PROGRESS)
  const known = await readCopyState(store.statements)
  const statements = { ...store.statements, ask: async () => Promise.reject(new Refusal('store_unavailable')) }
  const failing = { ...kernel, store: { ...store, statements } }
  const views: unknown[] = []
  follow(t, { ...applying, kernel: failing }, ({ progress }) => views.push(progress), known)
  await waitUntil(async () => views.length > 0)
  assert.deepEqual(views[0], PROGRESS)
})

it('the next page is read while one is stored, and read again if that one was not', async (t) => {
  const { kernel, store, applying } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  const names = ['bob', 'eve']
  const asked: string[] = []
  const readChanges: UsersDatabase['readChanges'] = async ({ since }) => {
    asked.push(since)
    const [name] = names.slice(Number(since))
    if (!name) return { rows: [], lastSeq: since, pending: 0 }
    const rows = [{ id: toId(name), changes: [{ rev: toRevision(1) }], doc: toRead(1, name) }]
    return { rows, lastSeq: String(Number(since) + 1), pending: names.length - Number(since) - 1 }
  }
  const attempts = [() => Promise.reject(new Error('the page is not stored')), async () => {}]
  const writeUsersWith: typeof store.writeUsersWith = async (writes, follow) => {
    if (writes.some(({ record }) => record.name === 'bob')) {
      await waitUntil(async () => asked.at(-1) === '1')
      await attempts.shift()?.()
    }
    return store.writeUsersWith(writes, follow)
  }
  const database = { ...applying.database, readChanges }
  const slow = { ...kernel, store: { ...store, writeUsersWith } }
  follow(t, { ...applying, database, kernel: slow })
  await waitUntil(async () => (await store.findUser('eve')) !== undefined)
  assert.deepEqual(asked.slice(0, 4), ['0', '1', '0', '1'])
  assert.ok(await store.findUser('bob'))
})

it('a document with conflicts is of a user who can sign in, if CouchDB lets such users sign in', async (t) => {
  const { kernel, store, applying, state } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  const doc = { ...toRead(1, 'bob'), _conflicts: [`1-${'f'.repeat(32)}`] }
  state.rows.push({ id: toId('bob'), changes: [{ rev: toRevision(1) }], doc })
  const database = { ...applying.database, allowsConflicts: async () => true }
  follow(t, { ...applying, database, kernel })
  await waitUntil(async () => (await store.findUser('bob')) !== undefined)
  const record = (await store.findUser('bob'))?.record
  assert.equal(record?.kind === 'user' && record.isWithheld, undefined)
  assert.deepEqual(await listRefusedDocuments(store.statements), [])
})

it('a record that is damaged keeps no other change from the store', async (t) => {
  const { kernel, store, applying, state } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  const damage = { name: 'test.damage', text: "UPDATE cardea_users SET record = 'x' WHERE name = $1" }
  await store.statements.ask(one(damage, 'ada'))
  for (const name of ['ada', 'bob'])
    state.rows.push({ id: toId(name), changes: [{ rev: toRevision(5) }], doc: toRead(5, name) })
  follow(t, { ...applying, kernel })
  await waitUntil(async () => (await store.findUser('bob')) !== undefined)
  const reason = 'The record in the store is damaged.'
  assert.deepEqual(await listRefusedDocuments(store.statements), [{ document: toId('ada'), kind: 'left-out', reason }])
})

it('what only Cardea knows of a written user is not lost if the process ends before the store has it', async (t) => {
  const { kernel, store, applying, openWriter, state } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  const ending = openWriter().wrap({ ...store, writeUser: () => Promise.reject(new Error('the process ends here')) })
  const zoe = toNewUser(
    { name: 'zoe', isActive: false, expiresAt: 5000 },
    readDocumentPassword(hashPassword('pw')),
    undefined,
  )
  await assert.rejects(ending.writeUser({ expected: 'absent', record: zoe }), MAYBE)
  state.number = 4
  const stored = await store.findUser('ada')
  assert.ok(stored?.record.kind === 'user')
  const changed = { ...stored.record, password: readDocumentPassword(hashPassword('new')) }
  const ada = applyUpdate(stored.record, changed, { nowSeconds: 2000, mustChangePassword: true })
  await assert.rejects(ending.writeUser({ expected: stored.sequence, record: ada }), MAYBE)
  follow(t, { ...applying, kernel })
  const find = async (name: string) => {
    const record = (await store.findUser(name))?.record
    return record?.kind === 'user' ? record : undefined
  }
  await waitUntil(async () => (await find('ada'))?.document.revision === toRevision(5))
  const [made, updated] = [await find('zoe'), await find('ada')]
  assert.deepEqual([made?.isActive, made?.expiresAt, updated?.mustChangePassword], [false, 5000, true])
  // it holds for this document only
  assert.ok(made && updated)
  const sequence = (await store.findUser('zoe'))?.sequence ?? 0
  await store.writeUser({ expected: sequence, record: { ...made, isActive: true } })
  state.rows.push({
    id: toId('zoe'),
    changes: [{ rev: toRevision(2) }],
    doc: { ...toRead(2, 'zoe'), ...toFullMembers(made.password) },
  })
  await waitUntil(async () => (await find('zoe'))?.document.revision === toRevision(2))
  assert.equal((await find('zoe'))?.isActive, true)
  assert.equal(await hasIntents(store.statements), false)
})

for (const [reply, refusal] of [
  ['refuses to enable', new Refusal('forbidden', { reason: 'CouchDB: no' })],
  ['does not confirm as enabled', toUnconfirmed('status 503')],
] as const)
  it(`a user whom CouchDB ${reply} stays disabled when another client edits the document`, async (t) => {
    const { store, openWriter, state, bringTo, followAda } = await openScene(t)
    await setProgress(store, { ...PROGRESS, phase: 'following' })
    const first = await requireUser(store)
    const disabled: User = { ...first.record, isActive: false, isPasswordApart: true }
    await store.writeUser({ expected: first.sequence, record: disabled })
    state.number = 4
    state.onWrite = () => Promise.reject(refusal)
    const { sequence } = await requireUser(store)
    const enabling = openWriter()
      .wrap(store)
      .writeUser({ expected: sequence, record: { ...disabled, isActive: true } })
    await assert.rejects(enabling, { code: refusal.code })
    assert.equal(await hasIntents(store.statements), refusal.code === 'store_unavailable')
    bringTo(toId('ada'), { type: 'user', name: 'ada', roles: ['staff'] })
    const after = await followAda()
    assert.deepEqual([after.isActive, after.document.roles], [false, ['staff']])
    assert.equal(await hasIntents(store.statements), false)
  })

for (const [what, more] of [
  ['another client edits the document', { roles: [], plan: 'gold' }],
  ['CouchDB has the change late', { roles: ['staff'] }],
] as const)
  it(`a grant of a change without a reply, which is revoked after it, stays revoked when ${what}`, async (t) => {
    const { store, openWriter, state, bringTo, followAda } = await openScene(t)
    await setProgress(store, { ...PROGRESS, phase: 'following' })
    state.number = 4
    state.onWrite = () => Promise.reject(toUnconfirmed('status 503'))
    const { wrap } = openWriter()
    const { sequence, record } = await requireUser(store)
    await assert.rejects(wrap(store).writeUser({ expected: sequence, record: withRoleAndGrant(record) }), MAYBE)
    // the user has no grant in the store yet: the record stays as it is
    assert.equal((await wrap(store).writeUser({ expected: sequence, record })).kind, 'written')
    bringTo(toId('ada'), { type: 'user', name: 'ada', ...toFullMembers(record.password), ...more })
    const after = await followAda()
    assert.deepEqual([after.document.roles, listGranted(after)], [more.roles, []])
  })

it('a change that CouchDB refuses for a newer document has no effect unless it is decided again', async (t) => {
  const { store, openWriter, state, bringTo } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  state.number = 4
  const { sequence, record } = await requireUser(store)
  state.onWrite = async () => {
    bringTo(toId('ada'), { type: 'user', name: 'ada', roles: ['staff'], ...toFullMembers(record.password) })
    return { kind: 'conflict' }
  }
  const outcome = await openWriter()
    .wrap(store)
    .writeUser({ expected: sequence, record: withRoleAndGrant(record) })
  assert.equal(outcome.kind, 'conflict')
  const { record: after } = await requireUser(store)
  assert.deepEqual([after.document.revision, listGranted(after)], [toRevision(5), []])
})

it('nothing is intended for a user who was written since it was read', async (t) => {
  const { store, openWriter, state } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  state.number = 4
  const { sequence, record } = await requireUser(store)
  state.onRead = async () => void (await store.writeUser({ expected: sequence, record }))
  state.onWrite = () => Promise.reject(new Error('it must not be written'))
  const outcome = await openWriter()
    .wrap(store)
    .writeUser({ expected: sequence, record: withRoleAndGrant(record) })
  assert.equal(outcome.kind, 'conflict')
  assert.equal(await hasIntents(store.statements), false)
})

it('what was intended with a document that CouchDB never got does not stay', async (t) => {
  const { kernel, store, applying, state } = await openScene(t)
  await setProgress(store, { ...PROGRESS, phase: 'following' })
  const before = await requireUser(store)
  const intended = { before, after: withRoleAndGrant(before.record), body: { name: 'ada' } }
  assert.equal(
    await noteIntent(store.statements, { ...intended, nowMs: kernel.clock.nowMs() - 25 * 60 * 60 * 1000 }),
    true,
  )
  follow(t, { ...applying, kernel })
  await waitUntil(async () => ((await readCopyState(store.statements))?.freshMs ?? 0) > 0)
  state.rows.push({ id: toId('bob'), changes: [{ rev: toRevision(5) }], doc: toRead(5, 'bob') })
  await waitUntil(async () => !(await hasIntents(store.statements)))
  await noteIntent(store.statements, { ...intended, nowMs: kernel.clock.nowMs() })
  state.rows.push({ id: toId('carl'), changes: [{ rev: toRevision(5) }], doc: toRead(5, 'carl') })
  await waitUntil(async () => (await store.findUser('carl')) !== undefined)
  assert.equal(await hasIntents(store.statements), true)
  const { holder = '' } = (await readCopyState(store.statements)) ?? {}
  await removeCopy(store.statements, holder)
  assert.equal(await hasIntents(store.statements), false)
})
