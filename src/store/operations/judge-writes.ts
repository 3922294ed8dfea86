import type { Expected, UserWrite, WriteOutcome } from '../../directory/store-port.ts'
import type { UserRecord } from '../../directory/user.ts'
import type { State } from './state.ts'

export interface Version {
  readonly sequence: number
  readonly isLive: boolean
}

export interface Judgement {
  readonly outcomes: readonly WriteOutcome[]
  /** What to put, one for each name. */
  readonly accepted: ReadonlyMap<string, { readonly sequence: number; readonly record: UserRecord }>
  readonly state: State
}

/** Decides write after write, each seeing those before it, which of them find the version they expect. */
export function judgeWrites(
  state: State,
  known: ReadonlyMap<string, Version>,
  writes: readonly UserWrite[],
): Judgement {
  const versions = new Map(known)
  const accepted = new Map<string, { sequence: number; record: UserRecord }>()
  let { sequence, users } = state
  const outcomes = writes.map(({ expected, record }): WriteOutcome => {
    const before = versions.get(record.name)
    const current: Expected = before?.sequence ?? 'absent'
    if (current !== expected) return { kind: 'conflict', current }
    sequence += 1
    const isLive = record.kind === 'user'
    users += Number(isLive) - Number(before?.isLive ?? false)
    versions.set(record.name, { sequence, isLive })
    accepted.set(record.name, { sequence, record })
    return { kind: 'written', sequence }
  })
  return { outcomes, accepted, state: { sequence, users } }
}
