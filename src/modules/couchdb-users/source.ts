// The users of CouchDB as the source of the directory.

import { toIdPrefix } from '../../dialects/document/users/id.ts'
import { askStore, type HealthCheck, type HealthProblem } from '../../observe/health.ts'
import type { OpenedSource, SourceCore } from '../module.ts'
import { createUsersDatabase } from './database.ts'
import { type CopyView, type FollowDeps, NO_COPY, startFollowing } from './follow.ts'
import { createPasswordForms } from './password-forms.ts'
import { releaseCopy } from './release.ts'
import { countRefused, HEALTH_NAME, type Phase } from './state.ts'
import { createWriteThrough } from './write-through.ts'

/** `undefined`: the users are those of the store. */
export async function openCouchdbUsers(core: SourceCore): Promise<OpenedSource | undefined> {
  const { config, kernel } = core
  if (config.get().directory.source === 'couchdb') return createSource(core)
  if (!core.isCommand) await releaseCopy(kernel, toIdPrefix(config.get().document.name))
  return undefined
}

function createSource({ config, kernel, findDatabase, isCommand }: SourceCore): OpenedSource {
  let view: CopyView = NO_COPY
  let applying: FollowDeps | undefined
  const { chttpd_auth: auth, document } = config.get()
  const database = createUsersDatabase(findDatabase, auth.authentication_db)
  const prefix = toIdPrefix(document.name)
  const isFeedStale = () =>
    view.freshAtMs === undefined || performance.now() - view.freshAtMs > config.get().store['max-staleness']
  // a command is the owner's, who signs in nowhere
  const isStale = isCommand ? () => false : isFeedStale
  const passwords = createPasswordForms(database)
  const writing = createWriteThrough({ kernel, database, prefix, isStale, ...passwords, findApplyDeps: () => applying })
  return {
    isStale,
    upgradesHashes: () => config.get().directory['upgrade-hashes'],
    toHashParameters: passwords.toHashParameters,
    wrap: writing.wrap,
    checks: [createCheck(() => view, isFeedStale, kernel.store)],
    start(directory) {
      const hasFoldedNames = () => config.get().auth.names === 'folded'
      const { isVerifiable } = passwords
      const maxStalenessMs = () => config.get().store['max-staleness']
      applying = {
        kernel,
        database,
        directory,
        prefix,
        hasFoldedNames,
        isVerifiable,
        settle: writing.settle,
        maxStalenessMs,
      }
      return startFollowing(applying, (now) => {
        view = now
      })
    },
  }
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
  if (problem !== undefined) return { reason: problem, isBridged: !isStale }
  if (progress && progress.phase !== 'following') {
    const reason = `${WHAT_IS_DONE[progress.phase]}: ${progress.done} of ${progress.done + progress.pending}`
    return { reason, isBridged: !isStale }
  }
  if (!isStale) return undefined
  return { reason: progress ? 'the changes in CouchDB were not read for too long' : 'the users are not copied yet' }
}
