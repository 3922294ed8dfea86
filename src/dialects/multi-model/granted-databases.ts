// Which databases exist where there is no upstream: the system database, and every name that a user was granted.
import { createLruCache } from '../../base/caches.ts'
import { yieldToOthers } from '../../base/pace.ts'
import type { Directory } from '../../directory/directory.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import type { Databases } from './settings.ts'

/** Names that are remembered, whether they exist or not, until a user changes. */
const MAX_NAMES = 1000
/** The store counts up to 10 000 users of each, which takes a millisecond. */
const PAGE_SIZE = 20

/** With an upstream every name may exist: the upstream decides. */
export function createGrantedDatabases(
  directory: Pick<Directory, 'countUsersBy' | 'onRevoked'>,
  hasUpstream: () => boolean,
): Databases {
  const known = createLruCache<Promise<boolean>>(MAX_NAMES)
  directory.onRevoked(({ kind }) => {
    if (kind !== 'session') known.clear()
  })
  const isGranted = async (name: string): Promise<boolean> => {
    const { counts } = await directory.countUsersBy('grant', name, 1)
    return counts[0]?.key === name
  }
  const ask = (name: string): Promise<boolean> => {
    const found = isGranted(name)
    known.set(name, found)
    // what could not be read is read again
    found.catch(() => known.delete(name))
    return found
  }
  return {
    exists: (name) => name === SYSTEM_DATABASE || hasUpstream() || (known.get(name) ?? ask(name)),
    async list() {
      const names = hasUpstream() ? [] : await listGranted(directory)
      return [...new Set([SYSTEM_DATABASE, ...names])].toSorted()
    },
  }
}

async function listGranted(directory: Pick<Directory, 'countUsersBy'>): Promise<readonly string[]> {
  const names: string[] = []
  let after: string | undefined
  do {
    const { counts, next } = await directory.countUsersBy('grant', '', PAGE_SIZE, after)
    names.push(...counts.map(({ key }) => key))
    await yieldToOthers()
    after = next
  } while (after !== undefined)
  return names.filter((name) => name !== ALL)
}
