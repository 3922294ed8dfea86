import { Refusal } from '../base/errors.ts'
import type { DirectoryDeps, Follower } from './deps.ts'
import type { EndedSessions } from './ended-sessions.ts'
import type { Listeners } from './listeners.ts'
import type { Change } from './store-port.ts'
import type { StoredWork } from './stored-work.ts'
import type { UserMemory } from './user-memory.ts'

/** How fresh what this node remembers is, and what keeps it so. */
export interface Knowledge {
  stalenessMs(): number
  /** Whether what is known is so old that it must not be used before it was looked for news. */
  isStale(): boolean
  /** Throws `store_unavailable` where what is known is too old and nothing newer can be had. */
  requireFresh(): Promise<void>
  catchUp(): Promise<void>
  close(): Promise<void>
}

export interface KnowledgeParts {
  readonly memory: UserMemory
  readonly ended: EndedSessions
  readonly listeners: Listeners
  readonly work: Pick<StoredWork, 'refresh'>
}

const MS_BETWEEN_WARNINGS = 10_000

export function createKnowledge(deps: DirectoryDeps, parts: KnowledgeParts): Knowledge {
  const { administration, clock, log, events } = deps
  let lostAtMs: number | undefined
  let warnedAtMs = Number.NEGATIVE_INFINITY
  const follower = deps.follow({
    from: administration.sequence(),
    onChange: (changes) => learn(changes, deps, parts),
    onReset: () => beginAnew(deps, parts),
    onStale({ error, ageMs }) {
      if (lostAtMs === undefined) events.record('store.lost', { reason: describeFailure(error) })
      lostAtMs ??= clock.nowMs() - ageMs
      if (clock.nowMs() - warnedAtMs < MS_BETWEEN_WARNINGS) return
      warnedAtMs = clock.nowMs()
      log.warn('the store cannot be asked for changes', { ageMs, error })
    },
    onRecovered() {
      const seconds = Math.round((clock.nowMs() - (lostAtMs ?? clock.nowMs())) / 1000)
      lostAtMs = undefined
      events.record('store.back', { seconds })
    },
  })
  const look = createLook(() => catchUp(follower))
  const isStale = () => follower.stalenessMs() > deps.settings().maxStalenessMs
  return {
    stalenessMs: () => follower.stalenessMs(),
    isStale,
    async requireFresh() {
      if (isStale()) await look()
    },
    catchUp: () => catchUp(follower),
    close: () => follower.stop(),
  }
}

/** The code alone: the message of a driver may quote a connection string. */
function describeFailure(error: unknown): string {
  if (error instanceof Refusal) return error.detail ?? error.message
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'no answer'
}

/** How long a store that was silent for so long is waited for, once for all who ask. */
const PATIENCE_MS = 250

/** One look for all who ask meanwhile. A store that does not answer keeps nobody waiting: they are refused. */
function createLook(catchUp: () => Promise<void>): () => Promise<void> {
  let look: Promise<void> | undefined
  return () => {
    if (look) return look
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Refusal('store_unavailable', { detail: 'no answer yet' })), PATIENCE_MS)
    look = promise
    void catchUp()
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer)
        look = undefined
      })
    return look
  }
}

async function catchUp(follower: Follower): Promise<void> {
  try {
    await follower.catchUp()
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal('store_unavailable', { cause: error })
  }
}

/**
 * Takes in changes made anywhere, this node included, and tells of each as soon as it holds: what comes after may fail,
 * and then all of them come again, but not what was learnt of them.
 */
async function learn(changes: readonly Change[], deps: DirectoryDeps, parts: KnowledgeParts): Promise<void> {
  const { memory, ended, listeners, work } = parts
  const { user = [], session = [], admin = [] } = Object.groupBy(changes, ({ kind }) => kind)
  for (const { key, sequence } of user) memory.forget(key, sequence)
  for (const { key } of user) listeners.tell({ kind: 'account', name: key })
  for (const { id, name } of session.length > 0 ? await ended.pull() : []) listeners.tell({ kind: 'session', id, name })
  const isSettingNew = changes.some((change) => isNewSetting(change, deps))
  const moved = isSettingNew ? await refreshAdministrators(deps) : []
  const names = new Set([...admin.map(({ key }) => key), ...moved])
  for (const name of names) listeners.tell({ kind: 'account', name })
  for (const name of new Set([...user.map(({ key }) => key), ...names])) await ended.trim(name)
  if (user.length > 0) await work.refresh()
}

/** Gives the administrators whose session epoch has moved, whatever moved it. */
async function refreshAdministrators({ administration }: DirectoryDeps): Promise<readonly string[]> {
  const before = administration.accounts()
  await administration.refresh()
  const after = administration.accounts()
  return [...before].flatMap(([name, { sessionEpoch }]) =>
    after.get(name)?.sessionEpoch.generation === sessionEpoch.generation ? [] : [name],
  )
}

const isNewSetting = ({ kind, sequence }: Change, { administration }: DirectoryDeps): boolean =>
  (kind === 'setting' || kind === 'admin') && sequence > administration.sequence()

async function beginAnew({ administration }: DirectoryDeps, parts: KnowledgeParts): Promise<void> {
  parts.memory.clear()
  await parts.ended.reset()
  await parts.work.refresh()
  await administration.refresh()
  parts.listeners.tell({ kind: 'everything' })
}
