// What `cardea check` finds out about the clock of this machine: whether it agrees with the store and the upstream servers.
import { SILENT_LOG } from '../base/log.ts'
import { reasonOf } from '../kernel/start-error.ts'
import { mayStoreExist } from '../live-config/load.ts'
import { loadStoredTime } from '../store/backup/engines.ts'
import { openStoreClock, type StoreClock } from '../store/store-clock.ts'
import type { AreaFindings, Machine } from './check-store.ts'

export interface Compared {
  readonly nowMs: number
  /** The upstream servers, with their clocks if their responses had one. */
  readonly probes: readonly { readonly option: string; readonly url: string; readonly dateMs?: number }[]
  /** `undefined`: the store does not know its time yet. A text: why it could not be read. */
  readonly clock: StoreClock | string | undefined
}

/** What was compared, if nothing was found. */
export function describeCompared({ probes, clock }: Compared): string {
  const compared = [probes.length > 0 && 'upstream servers', clock && 'the store'].filter(Boolean)
  return compared.length > 0 ? `agrees with ${compared.join(' and ')}` : 'there is nothing to compare it with yet'
}

/** Tokens live for minutes, so smaller differences do no harm. */
const MAX_SKEW_SECONDS = 30
const SYNCHRONISE = 'Synchronise the clocks (NTP). Tokens would expire too early or too late.'

/** The store may be used by a server: it is only read. */
export async function openClock({ settings, storeProblem }: Machine, nowMs: number): Promise<Compared['clock']> {
  const { url } = settings.values.store
  if (storeProblem !== undefined) return storeProblem
  if (!mayStoreExist(url)) return undefined
  try {
    const time = await loadStoredTime(url)
    if (!time) return undefined
    const readTime = async () => time
    return await openStoreClock({ readTime, keepTime: readTime }, { log: SILENT_LOG, system: { nowMs: () => nowMs } })
  } catch (error) {
    return reasonOf(error)
  }
}

function checkStoreTime({ settings, clock }: Machine & Compared): AreaFindings {
  if (clock === undefined) return []
  if (typeof clock === 'string')
    return [{ level: 'warning', message: `it was not compared with the store, which could not be read: ${clock}` }]
  const problem = clock.findProblem(settings.values.store['max-clock-skew'])
  if (problem) return [{ level: 'problem', message: problem.reason }]
  const waiting = clock.describeDeletionLag()
  return waiting === undefined ? [] : [{ level: 'warning', message: `nothing is deleted for now: ${waiting}` }]
}

export function checkClock(examined: Machine & Compared): AreaFindings {
  const { probes, nowMs } = examined
  const skewed = probes.flatMap(({ option, url, dateMs = nowMs }): AreaFindings => {
    const seconds = Math.round((dateMs - nowMs) / 1000)
    if (Math.abs(seconds) <= MAX_SKEW_SECONDS) return []
    return [
      { level: 'warning', message: `${option}: the clock of ${url} differs by ${seconds} s`, advice: SYNCHRONISE },
    ]
  })
  return [...skewed, ...checkStoreTime(examined)]
}
