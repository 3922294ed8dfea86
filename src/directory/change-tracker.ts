import { Refusal } from '../base/errors.ts'
import type { Notifier } from '../base/notifier.ts'
import { succeedsWithin } from '../base/sleep.ts'
import type { DirectoryDeps, Follower, Revocation } from './deps.ts'
import type { EndedSessions } from './sessions/ended-sessions.ts'
import type { Change } from './store-port/changes.ts'
import type { UserCache } from './users/user-cache.ts'

export type ChangeTracker = ReturnType<typeof createChangeTracker>

interface TrackedParts {
  readonly cache: UserCache
  readonly ended: EndedSessions
  readonly revocations: Notifier<Revocation>
  readonly hashWork: { refresh(): Promise<void> }
}

/** Follows the changes of the store and keeps what this node has cached up to date. */
export function createChangeTracker(deps: DirectoryDeps, parts: TrackedParts) {
  const follower = deps.follow({
    from: deps.administration.position(),
    alsoRead: deps.administration.position,
    onChange: (changes) => applyChanges(changes, deps, parts),
    onReset: () => reloadEverything(deps, parts),
    ...createOutageReports(deps),
  })
  /** How many changes were announced to this node that it could not read. */
  let missed = 0
  const catchUp = async (): Promise<void> => {
    const before = missed
    await catchUpOrRefuse(follower)
    if (missed === before) missed = 0
  }
  const catchUpBriefly = createBriefCatchUp(catchUp)
  const isStale = () => missed > 0 || follower.stalenessMs() > deps.settings().store['max-staleness']
  const requireFresh = async () => {
    if (isStale()) await catchUpBriefly()
  }
  return {
    sequence: () => follower.sequence(),
    stalenessMs: () => follower.stalenessMs(),
    /** Whether the cached data is too old to be used. */
    isStale,
    /** Throws `store_unavailable` if the cached data is too old and the store does not respond. */
    requireFresh,
    isFresh: () =>
      requireFresh().then(
        () => true,
        () => false,
      ),
    catchUp,
    /**
     * Applies a change that a sibling is about to acknowledge. If the store does not respond in time, what this
     * node remembers counts as too old until it does, and streams are ended. Never throws.
     */
    async follow(): Promise<void> {
      if (await succeedsWithin(catchUp(), MAX_FOLLOW_MS)) return
      missed += 1
      parts.revocations.notify({ kind: 'everything' })
    },
    close: () => follower.stop(),
  }
}

const MS_BETWEEN_WARNINGS = 10_000

/** Records when the store is lost and when it is back, and logs a warning from time to time. */
function createOutageReports({ clock, log, events }: DirectoryDeps) {
  let lostAtMs: number | undefined
  let warnedAtMs = Number.NEGATIVE_INFINITY
  return {
    onStale({ error, ageMs }: { readonly error: unknown; readonly ageMs: number }) {
      if (lostAtMs === undefined) events.record('store.lost', { reason: describeFailure(error) })
      lostAtMs ??= clock.nowMs() - ageMs
      if (clock.nowMs() - warnedAtMs < MS_BETWEEN_WARNINGS) return
      warnedAtMs = clock.nowMs()
      log.warn('changes cannot be read from the store', { ageMs, error })
    },
    onRecovered() {
      const seconds = Math.round((clock.nowMs() - (lostAtMs ?? clock.nowMs())) / 1000)
      lostAtMs = undefined
      events.record('store.back', { seconds })
    },
  }
}

/** Only the code: the message of a driver may quote a connection string. */
function describeFailure(error: unknown): string {
  if (error instanceof Refusal) return error.detail ?? error.message
  // anything can be thrown: a missing code is expected
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'no response'
}

/** A process that does not reply to its siblings for twice as long is ended. */
const MAX_FOLLOW_MS = 1000

/** How long requests wait for a store that has not responded for a long time. */
const MAX_WAIT_MS = 250

/**
 * Catches up once for all waiting requests. If the store has not responded in time, they are refused, and so are later
 * ones until it responds.
 */
function createBriefCatchUp(catchUp: () => Promise<void>): () => Promise<void> {
  let attempt: Promise<void> | undefined
  const start = (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Refusal('store_unavailable', { detail: 'no response yet' })), MAX_WAIT_MS)
    void catchUp()
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer)
        attempt = undefined
      })
    return promise
  }
  return () => {
    attempt ??= start()
    return attempt
  }
}

async function catchUpOrRefuse(follower: Follower): Promise<void> {
  try {
    await follower.catchUp()
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal('store_unavailable', { cause: error })
  }
}

/**
 * Applies changes of any node, this one included. Each kind is applied and announced before the next, because a later
 * step may fail: then all changes are delivered again.
 */
async function applyChanges(changes: readonly Change[], deps: DirectoryDeps, parts: TrackedParts): Promise<void> {
  const { cache, ended, revocations, hashWork } = parts
  const { user = [], session = [], admin = [] } = Object.groupBy(changes, ({ kind }) => kind)
  for (const { key } of user) cache.forget(key)
  for (const { key } of user) revocations.notify({ kind: 'account', name: key })
  const [firstEnded] = session
  const revokedSessions = firstEnded ? await ended.load(firstEnded.sequence - 1) : []
  for (const revocation of revokedSessions) revocations.notify(revocation)
  const hasNewSetting = changes.some((change) => isNewSetting(change, deps))
  const revokedAdministrators = hasNewSetting ? await refreshAdministrators(deps) : []
  const administrators = new Set([...admin.map(({ key }) => key), ...revokedAdministrators])
  for (const name of administrators) revocations.notify({ kind: 'account', name })
  for (const name of new Set([...user.map(({ key }) => key), ...administrators])) await ended.trim(name)
  if (user.length > 0) await hashWork.refresh()
}

/** Returns the administrators whose session epoch has changed or who were removed. */
async function refreshAdministrators({ administration }: DirectoryDeps): Promise<readonly string[]> {
  const before = administration.accounts()
  await administration.refresh()
  const after = administration.accounts()
  return [...before].flatMap(([name, { sessionEpoch }]) =>
    after.get(name)?.sessionEpoch.generation === sessionEpoch.generation ? [] : [name],
  )
}

const isNewSetting = ({ kind, sequence }: Change, { administration }: DirectoryDeps): boolean =>
  (kind === 'setting' || kind === 'admin') && sequence > administration.position().sequence

async function reloadEverything({ administration }: DirectoryDeps, parts: TrackedParts): Promise<void> {
  parts.cache.clear()
  // known ones stay ended
  await parts.ended.load(0)
  await parts.hashWork.refresh()
  await administration.refresh()
  parts.revocations.notify({ kind: 'everything' })
}
