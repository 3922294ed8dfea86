import type { EndedCount, EndedSession, SessionStore } from '../../directory/store-port/sessions.ts'
import { type Engine, numberOf, one, purgeExpired, type Row, type StoreSteps, textOf } from '../engine.ts'
import { requireKey, requirePageSize } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'
import { lockCounters, writeCounters } from './changes.ts'

export const createSessionStore = (engine: Engine): SessionStore => ({
  async endSession(session) {
    requireKey(session.id, 'the id of a session')
    requireKey(session.name, 'a name')
    return engine.transact(() => endSession(session))
  },
  async listEndedSessions(after, limit) {
    requirePageSize(limit)
    return (await engine.ask(one(STATEMENTS.listEnded, after, limit))).map(readEnded)
  },
  async listEndedIds(name) {
    const rows = await engine.ask(one(STATEMENTS.listEndedIds, name))
    return rows.map((row) => textOf(row, 'id'))
  },
  async forgetEndedSessions(name, upTo) {
    await engine.ask(one(STATEMENTS.forgetEnded, name, upTo))
  },
  purgeEnded: (nowSeconds) => purgeExpired(engine, STATEMENTS.purgeEnded, nowSeconds),
})

function* endSession({ id, name, expiresAt }: EndedSession): StoreSteps<EndedCount> {
  const counters = yield* lockCounters()
  const sequence = counters.sequence + 1
  yield one(STATEMENTS.putEnded, id, name, expiresAt, sequence)
  yield one(STATEMENTS.removeSession, id)
  yield* writeCounters({ ...counters, sequence })
  const [row] = yield one(STATEMENTS.countEnded, name)
  return { sequence, count: numberOf(row, 'count') }
}

const readEnded = (row: Row): EndedSession & { readonly sequence: number } => ({
  id: textOf(row, 'id'),
  name: textOf(row, 'name'),
  expiresAt: numberOf(row, 'expires_at'),
  sequence: numberOf(row, 'sequence'),
})
