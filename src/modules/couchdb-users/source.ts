// The users of CouchDB as the source of the directory. Whether they are, the store knows: every process looks there.

import { toIdPrefix } from '../../dialects/document/users/id.ts'
import { askStore, type HealthCheck, type HealthProblem } from '../../observe/health.ts'
import type { OpenedSource, SourceCore } from '../module.ts'
import { createUsersDatabase } from './database.ts'
import { type CopyView, type FollowDeps, NO_COPY, startFollowing } from './follow.ts'
import { createPasswordForms } from './password-forms.ts'
import { beginMirror, countRefused, HEALTH_NAME, hasOwnUsers, type Phase, readMirror } from './state.ts'
import { createWriteThrough } from './write-through.ts'

export async function openCouchdbUsers(core: SourceCore): Promise<OpenedSource> {
  const { config, kernel, findDatabase, isCommand } = core
  const { statements } = kernel.store
  const isWanted = config.get().directory.source === 'couchdb'
  if (isWanted) await beginMirror(statements, { phase: 'filling' })
  const mirror = await readMirror(statements)
  let view: CopyView = { ...NO_COPY, progress: mirror?.progress }
  let applying: FollowDeps | undefined
  const { chttpd_auth: auth, document } = config.get()
  const database = createUsersDatabase(findDatabase, auth.authentication_db)
  const prefix = toIdPrefix(document.name)
  const isOwn = () => view.progress === undefined
  const isFeedStale = () =>
    view.freshAtMs === undefined || performance.now() - view.freshAtMs > config.get().store['max-staleness']
  // a command is the owner's, who signs in nowhere
  const isStale = () => !isCommand && !hasOwnUsers(view.progress) && isFeedStale()
  const passwords = createPasswordForms(database)
  const findApplyDeps = () => applying
  const writing = createWriteThrough({ kernel, database, prefix, isOwn, isStale, ...passwords, findApplyDeps })
  const check = createCheck(() => view, isStale, kernel.store)
  return {
    isStale,
    upgradesHashes: () => isOwn() || config.get().directory['upgrade-hashes'],
    toHashParameters: async (configured) => (isOwn() ? configured : passwords.toHashParameters(configured)),
    wrap: writing.wrap,
    listChecks: () => (isOwn() ? (isWanted ? [NOT_ADOPTED] : []) : [check]),
    start(directory) {
      applying = {
        kernel,
        database,
        directory,
        prefix,
        hasFoldedNames: () => config.get().auth.names === 'folded',
        isVerifiable: passwords.isVerifiable,
        settle: writing.settle,
        maxStalenessMs: () => config.get().store['max-staleness'],
      }
      return startFollowing(applying, mirror, (now) => {
        view = now
      })
    },
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
const createCheck = (
  view: () => CopyView,
  isStale: () => boolean,
  store: SourceCore['kernel']['store'],
): HealthCheck => ({
  name: HEALTH_NAME,
  async find() {
    const problem = findProblem(view(), isStale())
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
  adopting: 'users are being written to CouchDB',
  filling: 'users are being copied, changes that are read',
  comparing: 'users are being compared, changes that are read',
  following: '',
}

function findProblem({ progress, problem }: CopyView, isStale: boolean): HealthProblem | undefined {
  const reason = problem ?? describeProgress(progress)
  if (reason !== undefined)
    return { reason, ...(hasOwnUsers(progress) ? { isWarning: true } : { isBridged: !isStale }) }
  return isStale ? { reason: 'the changes in CouchDB were not read for too long' } : undefined
}

function describeProgress(progress: CopyView['progress']): string | undefined {
  if (!progress || progress.phase === 'following') return undefined
  return `${WHAT_IS_DONE[progress.phase]}: ${progress.done} of ${progress.done + progress.pending}`
}
