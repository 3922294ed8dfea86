// Where requests wait for the database of their user: at the sign-in, and at the database itself.
import { setTimeout as pause } from 'node:timers/promises'
import { createLruCache } from '../../base/caches.ts'
import { Refusal } from '../../base/errors.ts'
import { type Account, idOf, isAccount } from '../../directory/account.ts'
import { type Identity, identityOf } from '../../directory/identity.ts'
import type { Step } from '../../http/request-context.ts'
import type { DocumentDoorCore, ModuleCore } from '../module.ts'
import { withHolder } from './holder.ts'
import { type DatabaseDoor, isOwnDatabase, listDoors, toDatabaseName } from './settings.ts'
import { addWishes, isRefused, JOB_KIND, listWanted, toKey } from './wishes.ts'

const LOOK_MS = 50
const MAX_REMEMBERED = 100_000

interface Patience {
  readonly waitMs: number
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

/**
 * Whether there is no job of a user left, at the latest after this time. All that wait for one user share the questions
 * to the store, which end with the last of them.
 */
export function createSettling(store: Pick<DocumentDoorCore['store'], 'hasJob'>) {
  const watched = new Map<string, { readonly settled: Promise<boolean>; waiting: number }>()
  const look = async (key: string): Promise<boolean> => {
    try {
      while (await store.hasJob(JOB_KIND, key)) {
        if (watched.get(key)?.waiting === 0) return false
        await pause(LOOK_MS)
      }
      return true
    } finally {
      watched.delete(key)
    }
  }
  return async (door: DatabaseDoor, name: string, { waitMs, signal }: Patience): Promise<boolean> => {
    const key = toKey(door, name)
    if (waitMs === 0) return !(await store.hasJob(JOB_KIND, key))
    if (signal?.aborted) return false
    const watch = watched.get(key) ?? { settled: look(key), waiting: 0 }
    watched.set(key, watch)
    watch.waiting += 1
    const ended = new AbortController()
    const end = AbortSignal.any([ended.signal, ...(signal ? [signal] : [])])
    try {
      return await Promise.race([watch.settled, pause(waitMs, false, { signal: end }).catch(() => false)])
    } finally {
      watch.waiting -= 1
      ended.abort()
    }
  }
}

/** At each sign-in: a user without a database gets the wish for one, and the reply waits for it for a while. */
export function createWelcome({ config, kernel: { store } }: ModuleCore): (account: Account) => Promise<void> {
  /** By the id of the user, so that a later user of its name is another. */
  const known = createLruCache<string>(MAX_REMEMBERED)
  const isSettled = createSettling(store)
  const welcome = async (account: Account): Promise<void> => {
    const settings = config.get()
    const doors = account.isAdmin ? [] : listDoors(settings)
    const database = toDatabaseName(settings, account.name)
    const all = `${doors.join()} ${database}`
    if (doors.length === 0 || known.get(idOf(account)) === all) return
    const missing = await listWanted(store.statements, account.name, settings)
    await addWishes(store.statements, missing)
    const { wait: waitMs } = settings['user-databases']
    const settled = await Promise.all(doors.map((door) => isSettled(door, account.name, { waitMs })))
    if (missing.length === 0 && settled.every(Boolean)) known.set(idOf(account), all)
  }
  // without the store the user signs in all the same, and the next sign-in tries again
  return (account) =>
    welcome(account).catch((error) => {
      if (!(error instanceof Refusal)) throw error
    })
}

/**
 * Until the jobs of a user are done, its requests to its database wait: there is none yet, or it still is that of an
 * earlier user of the name, who was deleted. That of a refused one may have prepared it so that CouchDB lets everyone
 * read what the user would write.
 */
export function createDatabaseStep(core: DocumentDoorCore): Step {
  const { settings: getSettings, store } = core
  /** The database that each may use. A user that was changed, or is another one of the name, is another object. */
  const known = new WeakMap<Identity, string>()
  const isSettled = createSettling(store)
  return {
    name: 'database of the user',
    run(context) {
      const settings = getSettings()
      const [first = ''] = context.path.segments
      if (!isOwnDatabase(identityOf(context), first, settings)) return undefined
      return withHolder(context, core.directory, (holder) => {
        if (!isAccount(holder) || holder.isAdmin || known.get(holder) === first) return undefined
        return requireOwn(holder, first, { waitMs: settings['user-databases'].wait, signal: context.signal })
      })
    },
  }
  async function requireOwn(account: Account, database: string, patience: Patience): Promise<undefined> {
    if (!(await isSettled('document', account.name, patience)))
      throw new Refusal('upstream_unavailable', {
        detail: 'the database of the user is not there yet',
        retryAfterSeconds: 1,
      })
    if (await isRefused(store.statements, account.name, database))
      throw new Refusal('forbidden', { reason: 'This database is not yours: an administrator has to decide.' })
    known.set(account, database)
    return undefined
  }
}
