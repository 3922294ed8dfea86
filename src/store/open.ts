import type { Log } from '../base/log.ts'
import type { Store } from '../directory/store-port.ts'
import { createStore } from './create-store.ts'
import { IncompatibleStoreError } from './incompatible-store.ts'
import type { Engine } from './steps.ts'
import { watchEngine } from './watch.ts'

export interface StoreOptions {
  readonly log: Log
}

const ADDRESS = /^(sqlite|postgres|postgresql):(?:\/\/)?(?!\/*$)(.+)$/s

/** An engine is loaded only when it is used. */
const ENGINES: ReadonlyMap<string, (url: string, rest: string, log: Log) => Promise<Engine>> = new Map([
  ['sqlite', async (_url, rest, log) => (await import('./sqlite/engine.ts')).openSqlite(rest, log)],
  ['postgres', async (url, _rest, log) => (await import('./postgres/engine.ts')).openPostgres(url, log)],
  ['postgresql', async (url, _rest, log) => (await import('./postgres/engine.ts')).openPostgres(url, log)],
])

/**
 * Opens `sqlite:path`, `sqlite::memory:` or `postgres://…` and brings its schema up to date. Throws `StoreMisfit` for
 * what will never do, a `Refusal` with `store_unavailable` for what cannot be reached now. The address may hold a
 * password and is never repeated.
 */
export async function openStore(url: string, { log }: StoreOptions): Promise<Store> {
  const [, scheme = '', rest = ''] = ADDRESS.exec(url) ?? []
  const open = ENGINES.get(scheme)
  if (!open) throw new IncompatibleStoreError('The address of the store begins with sqlite: or postgres://')
  return createStore(watchEngine(await open(url, rest, log), log))
}
