/**
 * A reply of the database that is cut at any byte gives the store no state that the database never had, and loses no change:
 * the next attempt of the same follower brings it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import type { Refusal } from '../../../src/base/errors.ts'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { applyUpdate } from '../../../src/directory/users/revisions.ts'
import type { User } from '../../../src/directory/users/user.ts'
import { openKernel } from '../../../src/kernel/kernel.ts'
import { createUsersDatabase } from '../../../src/modules/couchdb-users/database.ts'
import { type CopyView, createFollower } from '../../../src/modules/couchdb-users/follow.ts'
import { beginCopy } from '../../../src/modules/couchdb-users/state.ts'
import { createWriteThrough } from '../../../src/modules/couchdb-users/write-through.ts'
import { KERNEL_ROWS } from '../../../src/modules.ts'
import { toFullMembers } from '../../../src/passwords/schemes.ts'
import type { OpenStore } from '../../../src/store/create-store.ts'
import { openAskedDatabases } from '../../../src/wiring/upstreams.ts'
import { read } from '../../config/given.ts'
import { type Cut, openCutFeedServer } from '../../support/cut-feed-server.ts'
import type { Scope } from '../../support/scope.ts'
import { UPSTREAM_SECRET } from '../../support/upstream.ts'
import { toId } from '../../support/users-in-couchdb.ts'

const PREFIX = toId('')
const toPassword = (step: number) => ({
  password_scheme: 'simple',
  salt: String(step).padStart(4, '0'),
  password_sha: String(step).padStart(40, '0'),
})
const toRoles = (step: number) => ({ roles: [`r${String(step).padStart(4, '0')}`] })

type Scene = Awaited<ReturnType<typeof openScene>>

interface Row {
  readonly cut: Cut
  /** What the database gets before each reply that is cut. */
  change(scene: Scene, step: number): void
  readonly rowsOfPage?: number
  /** How many bytes from one cut to the next. Left out: it is cut at every byte. */
  readonly stride?: number
}

/** A new password and another role at once: in one revision. */
const changeAda = ({ users }: Scene, step: number) =>
  void users.change('ada', { ...toRoles(step), ...toPassword(step) })

/** In two: what the feed shows of it is not enough. */
function changeTwice({ users }: Scene, step: number): void {
  users.change('ada', { ...toRoles(step - 1), ...toPassword(step) })
  users.change('ada', { ...toRoles(step), ...toPassword(step) })
}

const toOther = (step: number): string => (step % 2 === 0 ? 'bob' : 'eve')

function changeMany(scene: Scene, step: number): void {
  scene.users.change(toOther(step - 1))
  changeAda(scene, step)
  scene.users.change(toOther(step), { roles: [] })
}

/** With the role that the user had before. */
function replaceAda({ users }: Scene, step: number): void {
  users.change('ada')
  users.change('ada', { roles: [], ...toPassword(step) })
}

const ROWS: Readonly<Record<string, Row>> = {
  'a page with one change': { cut: { method: 'GET', path: /_changes/ }, change: changeAda },
  'a page with several': { cut: { method: 'GET', path: /_changes/ }, change: changeMany, stride: 7 },
  'the page that is read ahead': {
    cut: { method: 'GET', path: /_changes/, passed: 1 },
    change: changeMany,
    rowsOfPage: 1,
    stride: 11,
  },
  'a document': { cut: { method: 'GET', path: /user%3Aada/ }, change: changeTwice, stride: 11 },
  'the document of another user of the name': {
    cut: { method: 'GET', path: /user%3Aada/ },
    change: replaceAda,
    stride: 11,
  },
  'the same document, after the deletion is stored': {
    cut: { method: 'GET', path: /user%3Aada/, passed: 1 },
    change: replaceAda,
    stride: 11,
  },
  'the checkpoint': { cut: { method: 'GET', path: /_local/ }, change: changeAda, stride: 11 },
  'the reply to a new entry of the checkpoint': {
    cut: { method: 'PUT', path: /_local/ },
    change: changeAda,
    stride: 5,
  },
}

async function openScene(scope: Scope) {
  const { url, users, cutNext } = await openCutFeedServer(scope)
  const ini = `[store]\nurl = sqlite::memory:\n[upstream]\ndocument = ${url}\ndocument-secret = ${UPSTREAM_SECRET}\n`
  const { values } = read({ ini }).settings
  const kernel = await openKernel(values, { rows: KERNEL_ROWS, log: SILENT_LOG })
  await beginCopy(kernel.store.statements, { phase: 'filling' })
  const databases = await openAskedDatabases(values, SILENT_LOG)
  const states: (readonly object[])[] = []
  const store: OpenStore = {
    ...kernel.store,
    async writeUsersWith(writes, follow) {
      const result = await kernel.store.writeUsersWith(writes, follow)
      states.push(await listUsers(kernel.store))
      return result
    },
  }
  const deps = {
    kernel: { ...kernel, store },
    database: createUsersDatabase(databases.find, '_users'),
    directory: { isAdministrator: () => false, findConfusion: () => undefined },
    prefix: PREFIX,
    isVerifiable: async () => true,
    settle: async () => {},
    hasFoldedNames: () => false,
    maxStalenessMs: () => 60_000,
  }
  const views: CopyView[] = []
  const follower = createFollower(deps, undefined, (view) => void views.push(view))
  scope.after(async () => {
    await follower.end()
    await databases.close()
    await kernel.close()
  })
  const follow = () => follower.attempt(new AbortController().signal)
  return { users, cutNext, deps, store, states, views, follow }
}

/** As the database has them. */
async function listUsers(store: Pick<OpenStore, 'listUsers'>): Promise<readonly object[]> {
  return (await store.listUsers({ limit: 1000 })).map(({ record: { name, password, document } }) => ({
    _id: toId(name),
    _rev: document.revision,
    type: 'user',
    name,
    roles: document.roles,
    ...toFullMembers(password),
    ...Object.fromEntries(document.members),
  }))
}

const toText = (state: readonly object[]): string =>
  JSON.stringify(state.map((document) => Object.entries(document).toSorted()).toSorted())

/** Each state that the store had is one of those that the database has had since, in their order. */
function checkStates({ states, users }: Scene, sinceState: number): void {
  const known = users.states.slice(sinceState).map(toText)
  let at = 0
  for (const state of states.splice(0)) {
    at = known.indexOf(toText(state), at)
    assert.ok(at >= 0, `the database was never so: ${toText(state)}`)
  }
}

/** Attempts until the copy is complete; at most `most`. */
async function followAll({ follow, views, users, store }: Scene, most: number): Promise<void> {
  const isComplete = async () => toText(await listUsers(store)) === toText(users.states.at(-1) ?? [])
  for (let left = most; !(await isComplete()); left -= 1) {
    assert.ok(left > 0, `it is not complete: ${views.at(-1)?.problem}`)
    await follow()
  }
  assert.equal(views.at(-1)?.problem, undefined)
}

/** The pages of a change, and what comes before them. */
const MOST_ATTEMPTS = 6

const IS_LONG = process.env['TEST_LONG'] !== undefined

describe('the store equals the database after a cut reply', () => {
  for (const [name, { cut, change, rowsOfPage = 10, stride = 1 }] of Object.entries(ROWS))
    it(name, async (t) => {
      const scene = await openScene(t)
      changeAda(scene, 0)
      scene.users.change(toOther(0), { roles: [] })
      await followAll(scene, MOST_ATTEMPTS)
      scene.users.limits.rows = rowsOfPage
      for (let bytes = 0, step = 1; ; bytes += IS_LONG ? 1 : stride, step += 1) {
        const sinceState = scene.users.states.length - 1
        change(scene, step)
        const findOutcome = scene.cutNext(cut, bytes)
        await scene.follow()
        checkStates(scene, sinceState)
        await followAll(scene, MOST_ATTEMPTS)
        checkStates(scene, sinceState)
        assert.ok(
          scene.views.splice(0).every(({ progress }) => progress?.phase !== 'comparing'),
          'all is read again',
        )
        assert.notEqual(findOutcome(), 'waiting')
        if (findOutcome() === 'whole') break
      }
    })

  it('the reply to a write through Cardea, which brings what only Cardea knows too', async (t) => {
    const scene = await openScene(t)
    const { deps, store, users, cutNext } = scene
    changeAda(scene, 0)
    await followAll(scene, MOST_ATTEMPTS)
    const open = {
      isOwn: () => false,
      isStale: () => false,
      requireVerifiable: async () => {},
      findApplyDeps: () => deps,
    }
    const { wrap } = createWriteThrough({ ...deps, ...open })
    for (let bytes = 0, step = 1; ; bytes += IS_LONG ? 1 : 3, step += 1) {
      const stored = await store.findUser('ada')
      assert.ok(stored?.record.kind === 'user')
      const sinceState = users.states.length - 1
      const findOutcome = cutNext({ method: 'PUT', path: /user%3Aada/ }, bytes)
      const writing = wrap(store).writeUser({ expected: stored.sequence, record: withGrant(stored.record, step) })
      const outcome = await writing.then(({ kind }) => kind, describeUnconfirmed)
      assert.equal(outcome, findOutcome() === 'cut' ? 'unconfirmed' : 'written')
      await followAll(scene, MOST_ATTEMPTS)
      checkStates(scene, sinceState)
      const { record } = (await store.findUser('ada')) ?? {}
      assert.ok(record?.kind === 'user')
      assert.deepEqual([record.document.roles, listGranted(record)], [toRoles(step).roles, [`db-${step}`]])
      if (findOutcome() === 'whole') break
    }
  })
})

/** A change of the document, and of what is not in it. */
function withGrant(user: User, step: number): User {
  const grants = new Map([[`db-${step}`, { level: 'rw', collections: new Map() } as const]])
  const document = { ...user.document, ...toRoles(step) }
  return applyUpdate(user, { ...user, document, multiModel: { ...user.multiModel, grants } }, { nowSeconds: 2000 })
}

const listGranted = ({ multiModel }: User): readonly string[] => [...multiModel.grants.keys()]

function describeUnconfirmed(error: unknown): 'unconfirmed' {
  assert.match(String((error as Refusal).reason), /may have been made/)
  return 'unconfirmed'
}
