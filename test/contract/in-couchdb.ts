/**
 * What a store and a directory do with users, with users in CouchDB: writes reach the database first, and the store follows
 * it. After each test of the store a new copy of the database has the same users.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { OpenedSource } from '../../src/modules/module.ts'
import { type OpenStore, openStore } from '../../src/store/create-store.ts'
import { createSqlitePlace } from '../store/places.ts'
import { openSource, startSource } from '../support/couchdb-source.ts'
import { openTestNode } from '../support/directory.ts'
import type { Scope } from '../support/scope.ts'
import { STORE_TESTS, type StoreScene, type StoreTests, withScene } from './store.ts'
import { type OpenNode, testUserOperations } from './user-operations.ts'

const GROUPS = ['users', 'listing of users', 'search for users'] as const

/** What cannot hold. It is a failure if it does. */
type Exceptions = Readonly<Record<string, { readonly reason: string; readonly shown: object }>>

const EXCEPTIONS: Exceptions = {
  'a failed import writes nothing, and the store stays usable': {
    reason: 'there is no transaction of several documents',
    shown: { message: /strictly equal/ },
  },
}

/** They write a thousand users, one after the other. */
export const LARGE: ReadonlySet<string> = new Set([
  'imports a thousand users at once',
  'pages continue behind the last entry',
  'requests have their turn while many users of an older version are added',
])

export interface CouchdbRows {
  /** Returns the options of Cardea for a new users database. */
  createDatabase(scope: Scope): Promise<string>
  readonly omitted?: ReadonlySet<string>
  readonly exceptions?: Exceptions
}

export function describeInCouchdb(engine: string, { createDatabase, omitted, exceptions }: CouchdbRows): void {
  describe(`store contract with users in ${engine}`, () => {
    for (const group of GROUPS)
      describe(group, () => {
        for (const [behaviour, test] of Object.entries(STORE_TESTS[group] ?? {})) {
          if (omitted?.has(behaviour)) continue
          const run = () => withScene(createSqlitePlace, (scene) => testInCouchdb(scene, createDatabase, test))
          const exception = { ...EXCEPTIONS, ...exceptions }[behaviour]
          if (!exception) it(behaviour, run)
          else it(`${behaviour}, not: ${exception.reason}`, () => assert.rejects(run, exception.shown))
        }
      })
  })
  describe(`a directory with users in ${engine}`, () => testUserOperations(createOpenNode(createDatabase)))
}

const createOpenNode =
  (createDatabase: CouchdbRows['createDatabase']): OpenNode =>
  async (outer, options) => {
    const { scope, end } = createReverseScope()
    outer.after(end)
    const ini = await createDatabase(scope)
    const opened = Promise.withResolvers<OpenedSource>()
    const node = await openTestNode(scope, {
      ...options,
      async openSource(store, clock) {
        opened.resolve(openSource(scope, ini, store, clock))
        return opened.promise
      },
    })
    await startSource(scope, await opened.promise, node.directory)
    return node
  }

/** What was opened last is closed first. */
function createReverseScope() {
  const works: (() => unknown)[] = []
  const scope: Scope = { after: (work) => works.unshift(work) }
  const end = async () => {
    for (const work of works) await work()
  }
  return { scope, end }
}

async function testInCouchdb(
  scene: StoreScene,
  createDatabase: CouchdbRows['createDatabase'],
  test: NonNullable<StoreTests[string]>,
): Promise<void> {
  const { scope, end } = createReverseScope()
  try {
    const ini = await createDatabase(scope)
    const openAnother = async () => followWith(scope, ini, await scene.openAnother())
    await test({ ...scene, store: await followWith(scope, ini, scene.store), openAnother })
    const copy = await openStore('sqlite::memory:', { log: SILENT_LOG })
    scope.after(() => copy.close())
    assert.deepEqual(
      await listDocuments(await followWith(scope, ini, copy)),
      await listDocuments(await scene.openAnother()),
    )
  } finally {
    await end()
  }
}

const NO_ADMINISTRATORS = { isAdministrator: () => false, findConfusion: () => undefined }

async function followWith(scope: Scope, ini: string, store: OpenStore): Promise<OpenStore> {
  const source = await openSource(scope, ini, store)
  await startSource(scope, source, NO_ADMINISTRATORS)
  return { ...store, ...source.wrap(store) }
}

/** What the database has of each user. All are of the type `user`, and members have no order. */
const listDocuments = async (store: Store): Promise<readonly object[]> =>
  (await store.listUsers({ limit: 10_000 })).map(({ record: { name, password, document } }) => {
    const { revision, roles, members } = document
    return { name, password, revision, roles, members: new Map(members.filter(([member]) => member !== 'type')) }
  })
