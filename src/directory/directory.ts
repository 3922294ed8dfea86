/**
 * The directory: users, administrators and their sessions, for both doors and the command line. Every operation is
 * atomic. When it resolves, this process no longer accepts the previous data; other nodes follow within a second.
 *
 * Operations throw a `Refusal`: `not_found` for an unknown name, `conflict` for an outdated revision or a taken name,
 * `bad_request` for an invalid name or role, `password_refused` for a new password that breaks a rule, `overloaded` if
 * too many passwords wait to be hashed, `store_unavailable` if the store cannot be reached.
 */

import { createAdministrators } from './administrator-operations.ts'
import type { DirectoryDeps } from './deps.ts'
import { createExternalAccounts } from './external-accounts.ts'
import { createNoteQueue, type NoteQueueDeps } from './note-queue.ts'
import { loadParts } from './parts.ts'
import { createPasskeys } from './passkeys.ts'
import { createSecondFactors } from './second-factor/second-factor.ts'
import { createRenewals } from './sessions/renewals.ts'
import { createSessionRecords } from './sessions/session-records.ts'
import { createSessions } from './sessions/sessions.ts'
import type { LastSignIn, SignInStore, TokenUse, TokenUseStore } from './store-port/sign-ins.ts'
import { findConfusion } from './users/check-user.ts'
import { createImportUsers } from './users/import-users.ts'
import { createSignInNames } from './users/sign-in-name.ts'
import { createHashUpgrade } from './users/upgrade-hash.ts'
import { type ExternalAccount, findGivenRoles, listRoles as listRolesOf, type User } from './users/user.ts'
import { createUserEditor, createUserReader } from './users/user-operations.ts'
import { createUserSearch } from './users/user-search.ts'

export type Directory = Awaited<ReturnType<typeof createDirectory>>

/** Resolves when all sessions ended so far are loaded. */
export async function createDirectory(deps: DirectoryDeps) {
  const parts = await loadParts(deps)
  const { store, clock } = parts
  const notes = parts.beginUnasked('note').store
  const { hashWork, tracker, findAccount, peekAccount } = parts
  const { settled, ...upgrade } = createHashUpgrade(parts)
  const editor = createUserEditor(parts)
  const search = createUserSearch(store, clock, () => deps.settings().roleIssuers)
  const listRoles = (user: User) => listRolesOf(user, deps.settings().roleIssuers)
  const sessions = createSessions(parts)
  const { close: closeRecords, ...records } = createSessionRecords(parts, sessions)
  const { close: closeTokenUses, ...tokenUses } = createTokenUses(notes, deps)
  const { close: closeSignIns, ...signIns } = createSignInNotes(notes, deps)
  return {
    ...createUserReader(store),
    ...search,
    ...createSignInNames(parts, search.findAddressOwner),
    ...editor,
    importUsers: createImportUsers(parts, editor),
    ...createAdministrators(parts),
    ...createExternalAccounts(parts, editor),
    ...createSecondFactors(parts, editor),
    ...createPasskeys(parts, editor),
    ...sessions,
    ...records,
    ...createRenewals({ ...parts, ...records, sessions }),
    ...tokenUses,
    ...signIns,
    findAccount,
    peekAccount,
    /** All roles of a user: its own, and those of its external accounts. */
    listRoles,
    /** The roles that the user has through one external account; `undefined`: its issuer gives none. */
    findGivenRoles: (link: ExternalAccount) => findGivenRoles(link, deps.settings().roleIssuers),
    countWaysIn: (user: User) => deps.settings().countWaysIn(user),
    /** Why the name of a user could be mistaken for that of another. */
    findConfusion: (name: string) => findConfusion(name, parts),
    /** The cost of verifying the passwords of users and administrators: at least the most iterations of each PRF. */
    storedWork: hashWork.list,
    ...upgrade,
    /** How old this node's view of the store is. */
    stalenessMs: tracker.stalenessMs,
    /** Whether the view is recent enough to authenticate, now or after a short query of the store. */
    isFresh: tracker.isFresh,
    /** Resolves when every earlier write of any node is visible here. */
    catchUp: tracker.catchUp,
    /** Applies a change of a sibling before that acknowledges it. */
    follow: tracker.follow,
    /** Writes the uses of sessions noted so far, and stops following changes. The store stays open. */
    async close() {
      await settled()
      await closeRecords()
      await closeTokenUses()
      await closeSignIns()
      await tracker.close()
    },
  }
}

/** When accounts last signed in, for administrators. */
function createSignInNotes(store: SignInStore, deps: NoteQueueDeps) {
  // a deleted user takes its last sign-in along, so nothing else is purged
  const queue = createNoteQueue(
    (signIns: readonly LastSignIn[]) => store.putSignIns(signIns),
    async () => {},
    { ...deps, topic: { name: 'sign-ins.flush' } },
  )
  return {
    /** Never waits: written in batches, for each name at most once a minute. */
    noteSignIn: (name: string, peer: string) => queue.note(name, (minute) => ({ name, at: minute, peer })),
    /** By name. Names without a sign-in are missing. */
    async findLastSignIns(names: readonly string[]): Promise<ReadonlyMap<string, LastSignIn>> {
      // a list of users is shown even while the store cannot be written
      await queue.flushSoon().catch(() => {})
      return new Map((await store.listSignIns(names)).map((signIn) => [signIn.name, signIn]))
    },
    close: queue.close,
  }
}

/** The last use of a token that was removed is kept no longer than this. */
const KEPT_SECONDS = 400 * 24 * 60 * 60

/** When access tokens were last used, for administrators. */
function createTokenUses(store: TokenUseStore, deps: NoteQueueDeps) {
  const purge = (nowSeconds: number) => store.purgeTokenUses(nowSeconds - KEPT_SECONDS)
  const write = (uses: readonly TokenUse[]) => store.putTokenUses(uses)
  const queue = createNoteQueue(write, purge, { ...deps, topic: { name: 'token-uses.flush' } })
  return {
    /** Never waits: uses are written in batches, those of one token once a minute. `mark` is that of the token. */
    noteTokenUse: (name: string, mark: string) => queue.note(mark, (minute) => ({ name, mark, usedAt: minute })),
    /** Seconds since the epoch, exact to the minute, by the mark of the token. */
    async listTokenUses(name: string): Promise<ReadonlyMap<string, number>> {
      await queue.flushSoon()
      return new Map((await store.listTokenUses(name)).map(({ mark, usedAt }) => [mark, usedAt]))
    },
    close: queue.close,
  }
}
