// The users of CouchDB as the source of the directory. Whether they are, the store knows: every process looks there.

import { keepRepeating } from '../../base/sleep.ts'
import { toIdPrefix } from '../../dialects/document/users/id.ts'
import { askStore, type HealthCheck, type HealthProblem } from '../../observe/health.ts'
import type { OpenedSource, SourceCore } from '../module.ts'
import { createUsersDatabase } from './database.ts'
import { type CopyView, createFollower, type FollowDeps } from './follow.ts'
import { createPasswordForms } from './password-forms.ts'
import {
  beginCopy,
  type CopyState,
  countRefused,
  HEALTH_NAME,
  hasOwnUsers,
  type Phase,
  readCopyState,
} from './state.ts'
import { createWriteThrough } from './write-through.ts'

export async function openCouchdbUsers(core: SourceCore): Promise<OpenedSource> {
  const { config, kernel, findDatabase } = core
  const { chttpd_auth: auth, document, directory: wanted } = config.get()
  if (wanted.source === 'couchdb') await beginCopy(kernel.store.statements, { phase: 'filling' })
  const known = await readCopyState(kernel.store.statements)
  const seen = createSeen(known, core)
  const { isOwn, isStale, maxStalenessMs } = seen
  const database = createUsersDatabase(findDatabase, auth.authentication_db)
  const prefix = toIdPrefix(document.name)
  const passwords = createPasswordForms(database)
  let applying: FollowDeps | undefined
  const findApplyDeps = () => applying
  const writing = createWriteThrough({ kernel, database, prefix, isStale, ...passwords, findApplyDeps })
  const check = createCheck(seen, kernel.store)
  return {
    isStale,
    upgradesHashes: () => isOwn() || config.get().directory['upgrade-hashes'],
    toHashParameters: async (configured) => (isOwn() ? configured : passwords.toHashParameters(configured)),
    wrap: writing.wrap,
    listChecks: () => (isOwn() ? (wanted.source === 'couchdb' ? [NOT_ADOPTED] : []) : [check]),
    start(directory) {
      const { isVerifiable } = passwords
      const hasFoldedNames = () => config.get().auth.names === 'folded'
      const common = { kernel, database, directory, prefix, maxStalenessMs }
      applying = { ...common, hasFoldedNames, isVerifiable, settle: writing.settle }
      return repeat(createFollower(applying, known, seen.show))
    },
  }
}

function repeat({ attempt, end }: ReturnType<typeof createFollower>): { stop(): Promise<void> } {
  const stopRepeating = keepRepeating(attempt)
  return {
    async stop() {
      await stopRepeating()
      await end()
    },
  }
}

/** Each look at the feed takes a while. */
const MIN_STALENESS_MS = 1000

type Seen = ReturnType<typeof createSeen>

/** What this process has seen of the copy, and what follows from it. */
function createSeen(known: CopyState | undefined, { config, isCommand }: SourceCore) {
  let view: CopyView = { progress: known?.progress, freshAtMs: undefined, problem: undefined }
  const maxStalenessMs = () => Math.max(MIN_STALENESS_MS, config.get().store['max-staleness'])
  const isFeedStale = () => view.freshAtMs === undefined || performance.now() - view.freshAtMs > maxStalenessMs()
  return {
    maxStalenessMs,
    get: () => view,
    show: (now: CopyView): void => {
      view = now
    },
    isOwn: () => view.progress === undefined,
    // a command is the owner's, who signs in nowhere
    isStale: () => !isCommand && !hasOwnUsers(view.progress) && isFeedStale(),
  }
}

/** Only an empty store becomes a copy by itself: users that are not in CouchDB would be lost. */
const NOT_ADOPTED: HealthCheck = {
  name: HEALTH_NAME,
  find: async () => ({
    reason:
      'the store has users of its own: cardea directory adopt writes them to CouchDB. Or set directory.source = own',
    isWarning: true,
  }),
}

/** Until the first copy is complete, or while it is too old, the server is not ready. */
const createCheck = (seen: Seen, store: SourceCore['kernel']['store']): HealthCheck => ({
  name: HEALTH_NAME,
  async find() {
    const problem = findProblem(seen.get(), seen.isStale())
    if (problem) return problem
    const { 'left-out': leftOut, conflict } = await askStore(countRefused(store.statements), NONE)
    const reasons = [
      ...(leftOut > 0 ? [`${leftOut} documents are left out`] : []),
      ...(conflict > 0 ? [`${conflict} users have conflicts and cannot sign in`] : []),
    ]
    return reasons.length === 0 ? undefined : { reason: `${reasons.join(', ')}: see cardea check`, isWarning: true }
  },
})

const NONE = { 'left-out': 0, conflict: 0 }

const WHAT_IS_DONE: Readonly<Record<Phase, string>> = {
  adopting: 'writing users to CouchDB: users written',
  filling: 'copying users from CouchDB: changes read',
  comparing: 'comparing all users with CouchDB: changes read',
  following: '',
}

function findProblem({ progress, problem }: CopyView, isStale: boolean): HealthProblem | undefined {
  const reason = problem ?? describeProgress(progress)
  if (reason !== undefined)
    return { reason, ...(hasOwnUsers(progress) ? { isWarning: true } : { isBridged: !isStale }) }
  return isStale ? { reason: 'the changes in CouchDB were not read for too long' } : undefined
}

function describeProgress(progress: CopyView['progress']): string | undefined {
  if (progress?.release) return 'the users are being moved to Cardea: changes of their documents wait'
  if (!progress || progress.phase === 'following') return undefined
  return `${WHAT_IS_DONE[progress.phase]} ${progress.done} of ${progress.done + progress.pending}`
}
