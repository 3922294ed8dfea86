// What `cardea start` does about users in CouchDB.
import type { ModuleCore } from '../module.ts'
import { createUsersDatabase } from './database.ts'
import { readCopyState } from './state.ts'

/** While the store is empty, the users of CouchDB can still stay where they are. */
export async function noteUsersThere({ config, kernel, gateway }: ModuleCore): Promise<readonly string[]> {
  const { directory, upstream, chttpd_auth: auth } = config.get()
  if (directory.source !== 'own' || upstream.document.length === 0) return []
  try {
    if (await readCopyState(kernel.store.statements)) return []
    if ((await kernel.store.countUsers()) > 0) return []
    const count = await createUsersDatabase(gateway.find, auth.authentication_db).countUsers()
    return count > 0 ? [renderNote(count)] : []
  } catch {
    return []
  }
}

const renderNote = (count: number): string =>
  `Users in CouchDB: ${count}. To leave them there: --directory.source couchdb. To move them here: cardea import --from-upstream`
