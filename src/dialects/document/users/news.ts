import { createWakeableSleep } from '../../../base/sleep.ts'
import type { Revocation } from '../../../directory/directory.ts'
import type { Authenticated } from '../../../directory/identity.ts'
import type { ChangesQuery } from './changes-query.ts'
import type { UsersDeps } from './deps.ts'

/** `beat`: time for a sign of life. `over`: nothing happened for too long. `gone`: nobody waits any longer. */
export type Outcome = 'news' | 'beat' | 'over' | 'gone' | 'cut'

/** Waits for something new, so that a feed asks only when there may be something. */
export interface News {
  wait(): Promise<Outcome>
  /** Something happened: the time without news begins anew. */
  restart(): void
  close(): void
}

/** Where the store cannot call, it is asked this often. */
const POLL_MS = 1000

export interface Waiting {
  readonly who: Authenticated
  readonly query: Pick<ChangesQuery, 'heartbeatMs' | 'timeoutMs'>
  readonly signal: AbortSignal
}

export function createNews({ changes, directory, clock }: UsersDeps, { who, query, signal }: Waiting): News {
  const { heartbeatMs = Number.POSITIVE_INFINITY } = query
  const timeoutMs = query.heartbeatMs === undefined ? query.timeoutMs : Number.POSITIVE_INFINITY
  const pause = createWakeableSleep()
  // something may have come while nobody listened
  let isFresh = true
  let isCut = false
  const expiresMs = 1000 * (who.origin?.expiresAt ?? Number.POSITIVE_INFINITY)
  let beatAt = performance.now() + heartbeatMs
  let overAt = performance.now() + timeoutMs

  const onWake = () => {
    isFresh = true
    pause.wake()
  }
  const endOfWake = changes.onWake(onWake)
  const endOfEnded = directory.onRevoked((ended) => {
    isCut ||= isEndOf(ended, who)
    if (isCut) pause.wake()
  })
  signal.addEventListener('abort', pause.wake)

  const judge = (): Outcome | undefined => {
    if (signal.aborted) return 'gone'
    if (isCut || clock.nowMs() >= expiresMs) return 'cut'
    if (isFresh) {
      isFresh = false
      return 'news'
    }
    const now = performance.now()
    if (now >= overAt) return 'over'
    if (now < beatAt) return undefined
    beatAt = now + heartbeatMs
    return 'beat'
  }

  return {
    async wait() {
      pause.beginWork()
      const already = judge()
      if (already) return already
      await pause.sleep(Math.min(POLL_MS, Math.max(0, Math.min(beatAt, overAt) - performance.now())))
      return judge() ?? 'news'
    },
    restart() {
      overAt = performance.now() + timeoutMs
      beatAt = performance.now() + heartbeatMs
    },
    close() {
      endOfWake()
      endOfEnded()
      signal.removeEventListener('abort', pause.wake)
    },
  }
}

/** Whether what let somebody in is over, or must be judged anew. */
function isEndOf(ended: Revocation, { identity, session }: Authenticated): boolean {
  if (ended.kind === 'everything') return true
  if (ended.kind === 'session') return ended.id === session?.id
  return ended.name === identity.name
}
