/**
 * The store over an engine. Calls of the ports enter, steps leave, and nothing that cannot be stored gets past here.
 */
import { setImmediate as giveWay } from 'node:timers/promises'
import type { CodeStore, Store } from '../directory/store-port.ts'
import { isKey, requireKey, requireLimit, requireText } from './limits.ts'
import { readChange } from './operations/changes.ts'
import { useCodeStep } from './operations/codes.ts'
import { addFailures, readFailures } from './operations/failures.ts'
import { listUsers, readListed } from './operations/list-users.ts'
import { endSession, readEnded } from './operations/sessions.ts'
import { putSetting, readSettings } from './operations/settings.ts'
import { readHashWork, readStored, writeUsers } from './operations/users.ts'
import { numberOf, textOf } from './rows.ts'
import { STATEMENTS } from './statements.ts'
import { type Engine, one, type Statement } from './steps.ts'

type Users = Pick<Store, 'findUser' | 'listUsers' | 'countUsers' | 'writeUser' | 'importUsers' | 'listHashWork'>
type Sessions = Pick<Store, 'endSession' | 'listEndedSessions' | 'listEndedIds' | 'forgetEndedSessions' | 'purgeEnded'>
type Failures = Pick<Store, 'addFailures' | 'listFailures' | 'purgeFailures'>
type Settings = Pick<Store, 'listSettings' | 'setSetting' | 'unsetSetting'>
type Changes = Pick<Store, 'sequence' | 'changesSince' | 'onWake'>

export const createStore = (engine: Engine): Store =>
  Object.freeze({
    engine: engine.name,
    ...createUsers(engine),
    ...createSessions(engine),
    ...createCodes(engine),
    ...createFailures(engine),
    ...createSettings(engine),
    ...createChanges(engine),
    close: () => engine.close(),
  })

function createUsers(engine: Engine): Users {
  const importUsers: Users['importUsers'] = async (writes) => {
    for (const { record } of writes) requireKey(record.name, 'a name')
    return writes.length === 0 ? [] : engine.transact(() => writeUsers(writes))
  }
  return {
    importUsers,
    async findUser(name) {
      if (!isKey(name)) return undefined
      const [row] = await engine.ask(one(STATEMENTS.findUser, name))
      return row && readStored(row)
    },
    async listUsers(range) {
      requireLimit(range.limit)
      return (await engine.ask(listUsers(range))).map(readListed)
    },
    countUsers: async () => numberOf((await engine.ask(one(STATEMENTS.readState)))[0], 'users'),
    listHashWork: async () => (await engine.ask(one(STATEMENTS.listHashWork))).map(readHashWork),
    async writeUser(write) {
      const [outcome] = await importUsers([write])
      if (!outcome) throw new TypeError('A write had no outcome')
      return outcome
    },
  }
}

function createSessions(engine: Engine): Sessions {
  return {
    async endSession(session) {
      requireKey(session.id, 'the id of a session')
      requireKey(session.name, 'a name')
      return engine.transact(() => endSession(session))
    },
    async listEndedSessions(after, limit) {
      requireLimit(limit)
      return (await engine.ask(one(STATEMENTS.listEnded, after, limit))).map(readEnded)
    },
    listEndedIds: async (name) =>
      (await engine.ask(one(STATEMENTS.listEndedIds, name))).map((row) => textOf(row, 'id')),
    forgetEndedSessions: async (name, upTo) => void (await engine.ask(one(STATEMENTS.forgetEnded, name, upTo))),
    purgeEnded: (nowSeconds) => purge(engine, STATEMENTS.purgeEnded, nowSeconds),
  }
}

/** In portions with a pause between, so that neither the database nor this process is kept busy for long. */
async function purge(engine: Engine, statement: Statement, nowSeconds: number): Promise<number> {
  let total = 0
  for (;;) {
    await giveWay()
    const { length } = await engine.ask(one(statement, nowSeconds))
    total += length
    if (length === 0) return total
  }
}

function createFailures(engine: Engine): Failures {
  return {
    addFailures: (batch) => engine.transact(() => addFailures(batch)),
    async listFailures(after, limit) {
      requireLimit(limit)
      return readFailures(await engine.ask(one(STATEMENTS.listFailures, after, limit)))
    },
    purgeFailures: (nowSeconds) => purge(engine, STATEMENTS.purgeFailures, nowSeconds),
  }
}

const createCodes = (engine: Engine): CodeStore => ({
  async useCodeStep(name, step) {
    requireKey(name, 'a name')
    return engine.transact(() => useCodeStep(name, step))
  },
})

function createSettings(engine: Engine): Settings {
  return {
    listSettings: async () => readSettings(await engine.ask(one(STATEMENTS.listSettings))),
    async setSetting(setting) {
      requireKey(setting.section, 'a section')
      requireKey(setting.key, 'an option')
      requireText(setting.text, 'a setting')
      return engine.transact(() => putSetting(setting, setting.text))
    },
    async unsetSetting(setting) {
      requireKey(setting.section, 'a section')
      requireKey(setting.key, 'an option')
      return engine.transact(() => putSetting(setting, undefined))
    },
  }
}

function createChanges(engine: Engine): Changes {
  return {
    sequence: async () => numberOf((await engine.ask(one(STATEMENTS.readState)))[0], 'sequence'),
    async changesSince(sequence, limit) {
      requireLimit(limit)
      return (await engine.ask(one(STATEMENTS.changesSince, sequence, limit))).map(readChange)
    },
    onWake: (listener) => engine.onWake(listener),
  }
}
