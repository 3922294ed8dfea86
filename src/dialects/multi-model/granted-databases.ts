// Which databases exist where there is no upstream: the system database, and every name that a user was granted.
import { createLruCache } from '../../base/caches.ts'
import type { Directory } from '../../directory/directory.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import type { Databases } from './settings.ts'

/** Names that are remembered, whether they exist or not, until a user changes. */
const MAX_NAMES = 1000

/** With an upstream every name may exist: the upstream decides. */
export function createGrantedDatabases(
  directory: Pick<Directory, 'isGranted' | 'listGranted' | 'onRevoked'>,
  hasUpstream: () => boolean,
): Databases {
  const known = createLruCache<Promise<boolean>>(MAX_NAMES)
  let listed: Promise<readonly string[]> | undefined
  directory.onRevoked(({ kind }) => {
    if (kind === 'session') return
    known.clear()
    listed = undefined
  })
  const ask = (name: string): Promise<boolean> => {
    const found = directory.isGranted(name)
    known.set(name, found)
    // what could not be read is read again
    found.catch(() => known.delete(name))
    return found
  }
  const readList = async (): Promise<readonly string[]> => {
    const names = new Set([SYSTEM_DATABASE, ...(await directory.listGranted())])
    names.delete(ALL)
    return [...names].toSorted()
  }
  const askList = (): Promise<readonly string[]> => {
    listed = readList()
    listed.catch(() => (listed = undefined))
    return listed
  }
  return {
    exists: (name) => name === SYSTEM_DATABASE || hasUpstream() || (name !== ALL && (known.get(name) ?? ask(name))),
    list: async () => (hasUpstream() ? [SYSTEM_DATABASE] : (listed ?? askList())),
  }
}
