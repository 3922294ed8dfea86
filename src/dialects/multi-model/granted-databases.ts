// Which databases there are where no upstream says so: the system database, and every name somebody was granted.

import type { Clock } from '../../base/clock.ts'
import type { RevocationFeed, UserReader } from '../../directory/directory.ts'
import { SYSTEM_DATABASE } from '../../directory/grants.ts'
import { listUserPages } from '../../directory/list-user-pages.ts'
import type { User } from '../../directory/user.ts'
import type { Databases } from './gate.ts'
import { createWitnesses } from './grant-witnesses.ts'

export interface GrantedDatabasesDeps {
  readonly directory: Pick<UserReader, 'findUser' | 'listUsers'> & RevocationFeed
  /** Whether an upstream knows better: then every name may exist. */
  hasUpstream(): boolean
  readonly clock: Clock
}

/** Past this many changed users it is cheaper to look at all of them. */
const MAX_CHANGED = 1000
/** Looking at all users again may take this part of the time, whoever asks and however much changes. */
const REST_FACTOR = 10

/** Nothing is read before somebody asks. Then all users are looked at once, and after that those that change. */
export function createGrantedDatabases({ directory, hasUpstream, clock }: GrantedDatabasesDeps): Databases {
  const witnesses = createWitnesses()
  const changed = new Set<string>()
  let isComplete = false
  let restsUntilMs = 0
  directory.onRevoked((ended) => {
    if (ended.kind === 'account') changed.add(ended.name)
    if (ended.kind !== 'everything' && changed.size <= MAX_CHANGED) return
    isComplete = false
    changed.clear()
  })
  const isScanDue = () => (!isComplete || witnesses.isDoubtful()) && clock.nowMs() >= restsUntilMs

  const lookAtAll = async () => {
    const startMs = clock.nowMs()
    changed.clear()
    isComplete = true
    try {
      await witnesses.seeOnly(listAll(directory))
    } catch (error) {
      isComplete = false
      throw error
    }
    restsUntilMs = clock.nowMs() + REST_FACTOR * (clock.nowMs() - startMs)
  }
  const lookAtChanged = async () => {
    for (const name of [...changed]) {
      const user = await directory.findUser(name)
      changed.delete(name)
      witnesses.see(name, user)
    }
  }
  const lookAgain = singleFlight(async () => {
    if (isScanDue()) await lookAtAll()
    await lookAtChanged()
  })
  const isBehind = () => changed.size > 0 || isScanDue()
  const catchUp = async () => {
    if (isBehind()) await lookAgain()
    // what changed after a look under way had begun, or what it left in doubt, is seen by the next
    if (isBehind()) await lookAgain()
  }

  return {
    async exists(name) {
      if (name === SYSTEM_DATABASE || hasUpstream()) return true
      await catchUp()
      return witnesses.has(name)
    },
    async list() {
      if (hasUpstream()) return [SYSTEM_DATABASE]
      await catchUp()
      return [...new Set([SYSTEM_DATABASE, ...witnesses.names()])].toSorted()
    },
  }
}

async function* listAll(directory: Pick<UserReader, 'listUsers'>): AsyncGenerator<User> {
  for await (const page of listUserPages(directory)) yield* page
}

function singleFlight(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}
