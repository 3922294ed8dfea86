/** Users in CouchDB for a store that a test has opened, without a server of Cardea. */
import assert from 'node:assert/strict'
import { type Clock, SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { createAlone } from '../../src/base/siblings.ts'
import type { Directory } from '../../src/directory/directory.ts'
import type { Kernel } from '../../src/kernel/kernel.ts'
import type { OpenedSource } from '../../src/modules/module.ts'
import { openUserSource } from '../../src/modules.ts'
import type { OpenStore } from '../../src/store/create-store.ts'
import { openAskedDatabases } from '../../src/wiring/upstreams.ts'
import { read } from '../config/given.ts'
import type { Scope } from './scope.ts'
import { waitUntil } from './wait.ts'

/** `ini`: the options of Cardea for a CouchDB and its users database. */
export async function openSource(
  scope: Scope,
  ini: string,
  store: OpenStore,
  clock: Clock = SYSTEM_CLOCK,
): Promise<OpenedSource> {
  const { settings, problems } = read({ ini: `${ini}\n[directory]\nsource = couchdb\n` })
  assert.deepEqual(problems, [])
  const { values } = settings
  const databases = await openAskedDatabases(values, SILENT_LOG)
  scope.after(databases.close)
  const events = { record: () => {} }
  // a source uses no other parts of a kernel
  const kernel = { store, clock, events, siblings: createAlone(), log: SILENT_LOG } as unknown as Kernel
  const core = { config: { get: () => values }, kernel, findDatabase: databases.find, isCommand: false }
  return (await openUserSource(core)) ?? assert.fail('no source is configured')
}

/** Resolves when the store has all users of the database, which it follows until the scope ends. */
export async function startSource(
  scope: Scope,
  source: OpenedSource,
  directory: Pick<Directory, 'isAdministrator' | 'findConfusion'>,
): Promise<void> {
  const copy = source.start(directory as Directory)
  scope.after(() => copy.stop())
  await waitUntil(() => !source.isStale())
}
