// What the database of users at the document door needs: the directory, its changes, and the live options.
import { SYSTEM_CLOCK } from '../base/clock.ts'

import type { Config } from '../config/options.ts'
import { toIdPrefix, type UserChanges, type UsersDeps, type UsersSettings } from '../dialects/document/users/deps.ts'
import type { Directory } from '../directory/directory.ts'
import type { ChangeFeed } from '../directory/store-port.ts'
import type { LiveConfig } from '../live-config/live-config.ts'

export function createUsersDeps(
  liveConfig: LiveConfig,
  directory: Directory,
  requirePassword: UsersDeps['requirePassword'],
): UsersDeps {
  const config = () => liveConfig.get().settings.values
  const { document, chttpd_auth } = config()
  return {
    database: chttpd_auth.authentication_db,
    prefix: toIdPrefix(document.name),
    directory,
    changes: createUserChanges(liveConfig.store),
    settings: () => toUsersSettings(config()),
    requirePassword,
    uuid: () => config().couchdb.uuid,
    clock: SYSTEM_CLOCK,
  }
}

const toUsersSettings = ({ chttpd_auth, couchdb }: Config): UsersSettings => ({
  publicFields: chttpd_auth.public_fields,
  isPublic: chttpd_auth.users_db_public,
  allowsSignUp: chttpd_auth.allow_sign_up,
  isDeletable: couchdb.users_db_deletable,
})

/** The changes of the store that are about users. */
function createUserChanges(feed: ChangeFeed): UserChanges {
  return {
    sequence: () => feed.sequence(),
    onWake: (listener) => feed.onWake(listener),
    async since(sequence, limit) {
      const latest = await feed.sequence()
      const page = await feed.changesSince(sequence, limit)
      const reached = page.at(-1)?.sequence ?? sequence
      const isEnd = page.length < limit
      return {
        changes: page
          .filter(({ kind }) => kind === 'user')
          .map((change) => ({ sequence: change.sequence, name: change.key })),
        // a short page holds all there is; what the sequence counts beyond has been replaced or purged since
        position: isEnd ? Math.max(reached, latest) : reached,
        isEnd,
      }
    },
  }
}
